// The proxy as a server: static files beside nginx, memory of idle connections, what it adds to a model's own time, start.
//
// Both servers of the first comparison have one core, the same files and the same headers; wrk has the other. They take
// turns, so that whatever else the machine does meets both.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { atLeast, atMost, percentile, plain } from "./figures.mjs";
import { must, output } from "./setting.mjs";

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), "proxy.lua");
const rounds = 5, seconds = 3;
const idleConnections = 10_000;
const concurrent = 200;
/** Of the scripted model: 200 callers at a time ask for 400 answers a second then, which two cores have time for. */
const modelMs = 500;
const key = "gsk_bench";

/** Runs `wrk` on the last core. */
function wrk(url, { connections, fields = [] }) {
  const args = ["-c", String(availableParallelism() - 1), "wrk", `-c${connections}`, "-t1", `-d${seconds}s`, "--timeout", "20s", "-s", script, ...fields.flatMap((field) => ["-H", field]), url];
  const { status, stderr, error } = spawnSync("taskset", args, { encoding: "utf8" });
  if (error || status !== 0) throw new Error(`wrk failed: ${error?.message ?? stderr}`);
  const measured = JSON.parse(stderr.trim().split("\n").at(-1));
  if (measured.failed > 0) throw new Error(`${measured.failed} of ${measured.requests} requests to ${url} failed`);
  return measured;
}

function get(url, { headers = {}, method = "GET", body, agent } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => (text += part)).on("end", () => resolve({ status: response.statusCode, headers: response.rawHeaders, body: text }));
    });
    request.on("error", reject).end(body);
  });
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Times of tasks in milliseconds, `concurrent` at a time. Callers begin one after the other, spread over what one task takes:
 * all at once they would stay in step, and each would wait for those before it. `body` is sent with @N@ as a number of its own.
 */
async function tasks(url, body, { time, ca }) {
  const { protocol, hostname, port, pathname } = new URL(url);
  const transport = protocol === "https:" ? https : http;
  const agent = new transport.Agent({ keepAlive: true, maxSockets: concurrent, noDelay: true, ca });
  const times = [];
  const from = performance.now() + 2 * modelMs, until = from + time * 1000;  // connections are made before
  const one = (text) => new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), Authorization: `Bearer ${key}` };
    const begun = performance.now();
    const request = transport.request({ hostname, port, path: pathname, method: "POST", headers, agent }, (response) => {
      response.resume().on("end", () => {
        const ended = performance.now();
        if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
        if (begun >= from && ended <= until) times.push(ended - begun);
        resolve();
      });
    });
    request.on("error", reject).end(text);
  });
  await Promise.all(Array.from({ length: concurrent }, async (_, caller) => {
    await new Promise((resolve) => setTimeout(resolve, caller * modelMs / concurrent));
    while (performance.now() < until) await one(body.replace("@N@", `${++taskNumber}`));
  }));
  agent.destroy();
  return { requests: times.length, seconds: time, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}
let taskNumber = 0;

/** A program that prints one line of JSON once it works. */
async function startProgram(command, args, { env = {}, log, stdin = "ignore" } = {}) {
  const begun = performance.now();
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: [stdin, "pipe", log] });
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${path.basename(command)} ended with ${code}`)));
  });
  return { child, ...JSON.parse(line), ms: performance.now() - begun };
}

async function end(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

const memory = (pid, field) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

/** nginx with one worker on the first core, over `site`, with the headers that `like` was answered with. */
async function startNginx(folder, site, like) {
  const port = await freePort();
  mkdirSync(path.join(folder, "nginx"), { recursive: true });
  const own = /^(content-length|content-type|date|etag|accept-ranges|connection|server|content-encoding|last-modified|x-request-id|vary)$/i;
  const added = [];
  for (let i = 0; i < like.length; i += 2) {
    if (!own.test(like[i])) added.push(`add_header ${like[i]} "${like[i + 1].replaceAll('"', '\\"')}";`);
  }
  const config = path.join(folder, "nginx.conf");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/nginx/${name};`).join(" ");
  writeFileSync(config, `daemon off; pid ${folder}/nginx/pid; error_log ${folder}/nginx/error.log; worker_processes 1; worker_cpu_affinity 1;
${process.getuid() === 0 ? "user root;" : ""} events { worker_connections 4096; }
http { include /etc/nginx/mime.types; access_log ${folder}/nginx/access.log; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=1000; gzip_static on; gzip_vary on; ${temporary}
server { listen 127.0.0.1:${port}; root ${site}; add_header X-Request-Id $request_id; ${added.join(" ")} } }
`);
  const child = spawn("nginx", ["-c", config, "-p", folder], { stdio: ["ignore", "ignore", "inherit"] });
  for (let tries = 0; ; ++tries) {
    try {
      await get(`http://127.0.0.1:${port}/index.html`);
      return { child, url: `http://127.0.0.1:${port}` };
    } catch (error) {
      if (tries === 100 || child.exitCode !== null) throw new Error(`nginx does not answer: ${error.message}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Requests a second of both over one file, in turn. */
async function staticFiles(folder, site, serve) {
  const assets = readdirSync(path.join(site, "assets"));
  const files = ["/index.html", `/assets/${assets.find((name) => /^ask-.*\.js$/.test(name))}`];
  const figures = [], rows = [];
  for (const file of files) {
    const server = await serve([], { pin: true });
    const like = await get(server.listening + file, { headers: { "Accept-Encoding": "gzip" } });
    const nginx = await startNginx(folder, site, like.headers);
    try {
      const theirs = [], ours = [];
      for (let round = 0; round < rounds; ++round) {
        for (const [url, into] of [[nginx.url, theirs], [server.listening, ours]]) {
          const { requests, seconds: took } = wrk(url + file, { connections: 32, fields: ["Accept-Encoding: gzip"] });
          into.push(requests / took);
        }
      }
      const ratios = ours.map((each, round) => each / theirs[round]);
      const name = file.startsWith("/assets") ? "script" : "index.html";
      figures.push(atLeast(`${name}: requests/s, of nginx's`, percentile(ratios, 0.5), "×", 0.8, `median of ${rounds} turns, ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`));
      rows.push([name, like.body.length, Math.round(percentile(ours, 0.5)), Math.round(percentile(theirs, 0.5))]);
    } finally {
      await end(nginx.child);
      await end(server.child);
    }
  }
  return { figures, table: { title: "requests/s, one core, 32 connections, gzip", columns: ["file", "bytes", "polygraph", "nginx"], rows } };
}

/** Connections that got an answer each and then stay. */
async function idle(serve) {
  const server = await serve(["--set", `MAX_CONNECTIONS=${idleConnections + 100}`, "--set", "IDLE_TIMEOUT_MS=600000"]);
  const port = Number(new URL(server.listening).port);
  const sockets = [];
  try {
    await get(`${server.listening}/healthz`);
    const before = memory(server.pid, "VmRSS");
    const open = () => new Promise((resolve, reject) => {
      const socket = net.connect(port, "127.0.0.1", () => socket.write("GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n"));
      sockets.push(socket);
      socket.once("data", resolve).once("error", reject);
    });
    while (sockets.length < idleConnections) await Promise.all(Array.from({ length: 100 }, open));
    const held = Number(/^polygraph_connections (\d+)/m.exec((await get(`${server.metrics}/metrics`)).body)[1]);
    const each = (memory(server.pid, "VmRSS") - before) / idleConnections;
    return [atLeast("idle connections held", held, "", idleConnections), atMost("memory of one", each / 1024, "KB", 16)];
  } finally {
    for (const socket of sockets) socket.destroy();
    await end(server.child);
  }
}

/** What a task takes longer through the proxy than the model takes by itself. */
async function completions(setting, folder, serve) {
  output("cmake", ["--build", setting.build, "--target", "scripted_upstream"], {});
  const upstream = await startProgram(must(path.join(setting.build, "tests/proxy/upstream/scripted_upstream"), "the scripted endpoint"), [], { log: "inherit", stdin: "pipe" });
  const roomy = ["CLIENT_BURST", "CLIENT_PER_MINUTE", "REQUESTS_PER_MINUTE", "REQUESTS_PER_DAY", "TOKENS_PER_MINUTE", "TOKENS_PER_DAY"].flatMap((name) => ["--set", `${name}=1000000000`]);
  const server = await serve([...roomy, "--set", `UPSTREAM_CONCURRENCY=${concurrent}`, "--set", "UPSTREAM_QUEUE=1000", "--upstream", upstream.url], { env: { SSL_CERT_FILE: upstream.ca_file } });
  try {
    const found = JSON.parse(output(setting.program, ["search", "--index", setting.index, "--mode", "bm25", "--json", "limit a container's memory"]));
    const task = JSON.stringify({ task: "generate", question: "How do I limit memory, try @N@?", chunk_ids: found.results.slice(0, 3).map(({ id }) => id) });
    const one = await get(`${server.listening}/api/complete`, { method: "POST", headers: { "Content-Type": "application/json" }, body: task });
    if (one.status !== 200) throw new Error(`/api/complete answered ${one.status}: ${one.body}`);
    // What the proxy asked is what the model is asked without it.
    const sent = JSON.parse((await get(`${upstream.control}/requests`)).body).at(-1).body;
    await get(`${upstream.control}/always`, { method: "POST", body: JSON.stringify(`delay:${modelMs}`) });
    const ca = readFileSync(upstream.ca_file);
    const direct = [], through = [];
    for (let round = 0; round < rounds; ++round) {
      for (const [url, body, into] of [[`${upstream.url}/chat/completions`, sent, direct], [`${server.listening}/api/complete`, task, through]]) {
        into.push(await tasks(url, body, { time: 5, ca }));
      }
    }
    const added = (p) => through.map((each, round) => each[p] - direct[round][p]);
    const peak = memory(server.pid, "VmHWM") / 2 ** 20;
    const spread = (values) => `median of ${rounds} turns, ${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;
    return {
      figures: [
        atMost("/api/complete, added to the model's own time, p50", percentile(added("p50"), 0.5), "ms", 0.5, spread(added("p50"))),
        atMost("the same, p99", percentile(added("p99"), 0.5), "ms", 3, spread(added("p99"))),
        atMost("resident memory at most, under that load", peak, "MB", 64),
      ],
      table: {
        title: `${concurrent} at once, a model that takes ${modelMs} ms, over TLS`,
        columns: ["way", "answers/s", "p50 ms", "p99 ms"],
        rows: [["the model itself", direct], ["through the proxy", through]].map(([name, all]) => [
          name, Math.round(percentile(all.map(({ requests, seconds: took }) => requests / took), 0.5)), percentile(all.map(({ p50 }) => p50), 0.5), percentile(all.map(({ p99 }) => p99), 0.5),
        ]),
      },
    };
  } finally {
    await end(server.child);
    upstream.child.stdin.end();
    await end(upstream.child);
  }
}

async function startUp(serve) {
  const times = [];
  for (let i = 0; i < 11; ++i) {
    const server = await serve([]);
    times.push(server.ms);
    await end(server.child);
  }
  return atMost("start to the line on stdout", percentile(times, 0.5), "ms", 100, `median of ${times.length}, worst ${Math.max(...times).toFixed(0)}`);
}

export async function run(setting) {
  const site = must(path.join(setting.dist, "site"), "the page");
  must(setting.index, "the index");
  const folder = mkdtempSync(path.join(tmpdir(), "polygraph-bench-"));
  let number = 0;
  const serve = (more, { pin = false, env = {} } = {}) => {
    const args = ["serve", "--site", site, "--index", setting.index, "--state", path.join(folder, `state-${++number}`), "--port", "0", ...more];
    const log = openSync(path.join(folder, `log-${number}`), "w");
    const program = must(setting.program, "the native program");
    const environment = { GROQ_API_KEY: key, ...env };
    return pin ? startProgram("taskset", ["-c", "0", program, ...args], { env: environment, log }) : startProgram(program, args, { env: environment, log });
  };
  try {
    const start = await startUp(serve);
    const files = await staticFiles(folder, site, serve);
    const held = await idle(serve);
    const tasks = await completions(setting, folder, serve);
    return { figures: [start, ...files.figures, ...held, ...tasks.figures], tables: [files.table, tasks.table] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
