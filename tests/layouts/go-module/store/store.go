package store

var Kept = map[string]string{}
