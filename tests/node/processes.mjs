// Real servers and the command line, in a directory that is removed at the end.
import {spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';

const binaries = process.env.SORTITION_BINARIES;
if (!binaries) throw new Error('SORTITION_BINARIES is unset, must be the folder of the programs');

// So that the handlers of 'exit' run.
process.on('SIGTERM', () => process.exit(1));

export function tempFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'sortition-node-'));
  process.on('exit', () => rmSync(folder, {recursive: true, force: true}));
  return folder;
}

// Runs `sortition` to its end; returns what it printed.
export function sortition(args, input = '') {
  return run('sortition', args, input);
}

// Writes files, {path: content}, and runs `sortition-trainer` to its end.
export function trainer(args, files) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(path), {recursive: true});
    writeFileSync(path, content);
  }
  return run('sortition-trainer', args, '');
}

function run(program, args, input) {
  const {status, stdout, stderr} = spawnSync(join(binaries, program), args,
      {input, encoding: 'utf8', maxBuffer: 1 << 28});
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

export const python = '/usr/bin/python3';

export class ServerProcess {
  port = 0;  // Kept by restarts.

  constructor(folder, options = []) {
    Object.assign(this, {folder, options, spool: join(folder, 'spool'), portFile: join(folder, 'ports')});
    mkdirSync(join(folder, 'models'), {recursive: true});
    process.on('exit', () => this.child?.kill('SIGKILL'));
  }

  get address() {
    return `127.0.0.1:${this.port}`;
  }

  async start() {
    rmSync(this.portFile, {force: true});
    this.log = '';
    this.child = spawn(join(binaries, 'sortition-server'), [
      `--listen=127.0.0.1:${this.port}`, '--metrics_listen=127.0.0.1:0', '--http.listen=127.0.0.1:0',
      `--port_file=${this.portFile}`, `--model_store=${join(this.folder, 'models')}`, `--spool.dir=${this.spool}`,
      ...this.options], {stdio: ['ignore', 'ignore', 'pipe']});
    this.child.stderr.setEncoding('utf8').on('data', (text) => { this.log += text; });
    this.ended = once(this.child, 'exit');
    await Promise.race([this.#hasPorts(), this.ended.then(() => {
      throw new Error(`the server ended: ${this.log}`);
    })]);
    this.port = Number(/^rpc (\d+)$/m.exec(readFileSync(this.portFile, 'utf8'))[1]);
    return this;
  }

  // The server renames the file into its place.
  #hasPorts() {
    return new Promise((resolve) => {
      const watcher = watch(this.folder, () => {
        if (!existsSync(this.portFile)) return;
        watcher.close();
        resolve();
      });
      if (existsSync(this.portFile)) watcher.emit('change');
    });
  }

  async stop(signal = 'SIGTERM') {
    this.child.kill(signal);
    await this.ended;
  }

  // Returns the records of the spool, in the JSON form of the log's protos.
  records() {
    return sortition(['log', 'cat', '--output=json', this.spool]).split('\n').filter(Boolean).map(JSON.parse);
  }
}
