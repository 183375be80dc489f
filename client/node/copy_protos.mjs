// Copies the protos that the client reads at run time into the package. npm runs
// it before it packs, and with --remove afterwards: in the source tree the client
// reads the protos where they are.
import {cpSync, rmSync} from 'node:fs';

const needed = [
  'grpc/health/v1/health.proto', 'sortition/v1/columns.proto', 'sortition/v1/ranking.proto',
];

const from = new URL('../../proto/', import.meta.url);
const to = new URL('proto/', import.meta.url);
rmSync(to, {recursive: true, force: true});
if (!process.argv.includes('--remove')) for (const path of needed) cpSync(new URL(path, from), new URL(path, to));
