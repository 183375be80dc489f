// The methods of the services, from the protos: paths and how messages are
// written and read; names of enums.
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {loadSync} from '@grpc/proto-loader';

// The package has copies (copy_protos.mjs); the source tree has the protos.
const folder = ['../proto', '../../../proto']
    .map((path) => fileURLToPath(new URL(path, import.meta.url))).find(existsSync);

const definitions = loadSync(['sortition/v1/ranking.proto', 'grpc/health/v1/health.proto'], {
  includeDirs: [folder], longs: String, enums: String, defaults: true, arrays: true,
});

// Returns the names of the values of an enum of a message.
export function enumNames(message, name) {
  const {enumType} = definitions[`sortition.v1.${message}`].type;
  return enumType.find((type) => type.name === name).value.map((value) => value.name);
}

export const ranking = definitions['sortition.v1.Ranking'];
export const health = definitions['grpc.health.v1.Health'];
