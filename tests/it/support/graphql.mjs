// Compares GraphQL requests with a schema: one JSON object a line in, one JSON list of complaints a line out.
// Arguments: the folder of the package `graphql`, and the file of the schema.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, file] = process.argv.slice(2);
const graphql = createRequire(import.meta.url)(`${folder}/index.js`);
const schema = graphql.buildSchema(readFileSync(file, "utf8"), { assumeValidSDL: true });

function complaints({ query, variables }) {
  let document;
  try {
    document = graphql.parse(query);
  } catch (error) {
    return [error.message];
  }
  const found = graphql.validate(schema, document).map((error) => error.message);
  if (found.length > 0) return found;
  return document.definitions
    .filter((definition) => definition.kind === "OperationDefinition")
    .flatMap((operation) => {
      const declared = operation.variableDefinitions ?? [];
      const given = graphql.getVariableValues(schema, declared, variables ?? {});
      return (given.errors ?? []).map((error) => error.message);
    });
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(complaints(JSON.parse(line)))}\n`);
}
