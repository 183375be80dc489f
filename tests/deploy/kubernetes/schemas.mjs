// Checks rendered manifests against the published schemas of Kubernetes and of the Prometheus
// operator. usage: node schemas.mjs MODULES < manifests.json
// Reads a JSON list of [name of the overlay, resource]. Prints a line for each error; exit
// status 1 if there are any.
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

const modules = pathToFileURL(`${process.argv[2]}/node_modules/`);
const PACKAGES = {'monitoring.coreos.com': '@kubernetes-models/prometheus-operator'};

// Returns the class of a resource's apiVersion and kind, or null.
async function modelOf({apiVersion, kind}) {
  const name = PACKAGES[apiVersion.split('/')[0]] ?? 'kubernetes-models';
  try {
    return (await import(new URL(`${name}/${apiVersion}/${kind}.js`, modules)))[kind];
  } catch {
    return null;
  }
}

// Wraps `value` so that `read` gets the path of each member that somebody reads.
function watched(value, path, read) {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return target[key];
      read.add(`${path}/${key}`);
      return watched(target[key], `${path}/${key}`, read);
    },
  });
}

// Returns the paths of all members of `value`.
function pathsOf(value, path) {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
      [`${path}/${key}`, ...pathsOf(member, `${path}/${key}`)]);
}

// The schemas let unknown fields pass, as an API server does that drops them. But they read
// every field that they know: a field that nobody has read is none.
function errorsOf(model, resource) {
  const read = new Set(['/apiVersion', '/kind']);
  try {
    model.prototype.validate.call(watched(resource, '', read));
  } catch (error) {
    return [error.message];
  }
  const unread = pathsOf(resource, '').filter((path) => !read.has(path));
  return unread.map((path) => `${path}: unknown field`);
}

let failed = false;
for (const [overlay, resource] of JSON.parse(readFileSync(0, 'utf8'))) {
  const name = `${overlay}: ${resource.apiVersion} ${resource.kind} ${resource.metadata?.name}`;
  const model = await modelOf(resource);
  const errors = model ? errorsOf(model, resource) : ['no such apiVersion and kind'];
  for (const error of errors) console.log(`${name}: ${error}`);
  failed ||= errors.length > 0;
}
process.exit(failed ? 1 : 0);
