// Runs a sample of the WebGPU CTS on Dawn, as docs/webgpu.md says:
//
//   node cts.cjs CTS DAWN EVERY QUERY...
//
// CTS is the suite's directory with what was compiled in out-node, DAWN the path of dawn.node, and EVERY tells that one
// case of so many is to run. The cases run in a process of their own, so that a crash ends one of them. Standard output
// has a line of JSON for each case that neither passes nor is skipped, and for all of them at the end. The exit status
// is 1 if there is one that cts-expected.txt doesn't explain.
'use strict';
const { spawn } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

const [cts, dawn, every, ...queries] = process.argv.slice(2);
// A case that takes longer counts as one that hangs.
const patience = 120_000;

// suite has the parts of the CTS that find and run cases.
function suite() {
	process.chdir(cts);
	const part = name => require(path.resolve('out-node', name));
	const { DefaultTestFileLoader } = part('common/internal/file_loader.js');
	const { parseQuery } = part('common/internal/query/parseQuery.js');
	const { Logger } = part('common/internal/logging/logger.js');
	const { prettyPrintLog } = part('common/internal/logging/log_message.js');
	const loader = new DefaultTestFileLoader();
	return { part, Logger, prettyPrintLog, cases: query => loader.loadCases(parseQuery(query)) };
}

// sampled tells of one name in every so many, the same ones each time.
const sampled = name => createHash('sha1').update(name).digest().readUInt32LE() % Number(every) === 0;

// work runs the cases that it reads from its parent, one at a time.
async function work() {
	const { part, Logger, prettyPrintLog, cases } = suite();
	const { create, globals } = require(dawn);
	Object.assign(globalThis, globals);
	const gpu = create([]);
	part('common/util/navigator_gpu.js').setGPUProvider(() => gpu);
	const log = new Logger();
	process.on('message', async name => {
		for (const testcase of await cases(name)) {
			const [recorder, result] = log.record(name);
			await testcase.run(recorder, []);
			const logs = result.status === 'pass' || result.status === 'skip' ? [] : result.logs ?? [];
			process.send({
				name, status: result.status, ms: Math.round(result.timems),
				logs: logs.map(prettyPrintLog).filter(l => !l.includes('INFO: subcase ran')).join('\n').slice(0, 3000),
			});
		}
	});
}

// run has one case run by the worker, and returns it with what became of it.
function run(worker, name) {
	return new Promise(done => {
		const end = result => {
			clearTimeout(timer);
			worker.removeAllListeners('message').removeAllListeners('exit');
			done({ name, ...result });
		};
		const timer = setTimeout(() => (worker.kill('SIGKILL'), end({ status: 'hang' })), patience);
		worker.once('message', end);
		worker.once('exit', (code, signal) => end({ status: 'crash', code, signal, logs: worker.said.join('\n') }));
		worker.send(name);
	});
}

// explained are the expressions of cts-expected.txt.
const explained = fs.readFileSync(path.join(__dirname, 'cts-expected.txt'), 'utf8').split('\n')
	.filter(line => line.startsWith('^')).map(line => new RegExp(line.split(' ')[0]));

function start() {
	const worker = spawn(process.execPath, ['--expose-gc', __filename, cts, dawn], {
		stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
		env: { ...process.env, FARSIDE_CTS_WORKER: '1' },
	});
	worker.said = [];
	readline.createInterface({ input: worker.stderr }).on('line', line => {
		worker.said = [...worker.said, line].slice(-40);
	});
	return worker;
}

async function main() {
	const { cases } = suite();
	const counts = {};
	let worker, ran = 0;
	for (const query of queries) {
		for (const testcase of await cases(query)) {
			const name = testcase.query.toString();
			if (!sampled(name)) {
				continue;
			}
			worker ??= start();
			const result = await run(worker, name);
			if (result.status === 'fail' && explained.some(e => e.test(name))) {
				result.status = 'expected';
			}
			counts[result.status] = (counts[result.status] ?? 0) + 1;
			if (result.status !== 'pass' && result.status !== 'skip') {
				console.log(JSON.stringify(result));
			}
			if (process.env.VERBOSE) {
				console.error(`${result.status} ${result.ms} ${name}`);
			}
			// Dawn keeps much of what its cases made: a worker does not live for all of them.
			if (++ran % 500 === 0 || result.status === 'crash' || result.status === 'hang') {
				worker.kill('SIGKILL');
				worker = undefined;
			}
		}
	}
	worker?.kill('SIGKILL');
	console.log(JSON.stringify(counts));
	process.exitCode = counts.fail || counts.warn || counts.crash || counts.hang ? 1 : 0;
}

process.env.FARSIDE_CTS_WORKER ? work() : main();
