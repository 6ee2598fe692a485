-- A job is of one of several kinds now: its payload names the task and what the task is about.
UPDATE job SET payload = json_object(
    'task', json_object('pull', json_object(
        'pull', json_extract(payload, '$.pull'),
        'head', json_extract(payload, '$.head'))),
    'delivery', json_extract(payload, '$.delivery'))
WHERE kind = 'pull';
