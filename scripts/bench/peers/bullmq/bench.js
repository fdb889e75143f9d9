// Adds jobs that do nothing, then lets one worker process them all.
// usage: node bench.js SOCKET JOBS CONCURRENCY; prints {"jobs_per_s": N}
const { Queue, Worker } = require("bullmq");

const [socket, jobs, concurrency] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const connection = { path: socket, maxRetriesPerRequest: null };
const payload = { text: "x".repeat(200) };

async function main() {
  const queue = new Queue("bench", { connection });
  for (let at = 0; at < jobs; at += 1000) {
    const batch = Array.from({ length: Math.min(1000, jobs - at) }, () => ({ name: "noop", data: payload, opts: { removeOnComplete: true } }));
    await queue.addBulk(batch);
  }
  let done = 0;
  const worker = new Worker("bench", async () => {}, { connection, concurrency, autorun: false });
  await worker.waitUntilReady();
  const began = process.hrtime.bigint();
  const end = new Promise((resolve) => worker.on("completed", () => { if (++done === jobs) resolve(); }));
  worker.run();
  await end;
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  console.log(JSON.stringify({ jobs_per_s: jobs / seconds }));
  await worker.close();
  await queue.close();
}

main().catch((err) => { console.error(err.message); process.exit(1); });
