// A handler in another language: the runner POSTs the payload, the answer is the result.
// 2xx is done, 408, 425, 429 and 5xx are tried again (Retry-After is heeded), any other status is final.
"use strict";

const http = require("node:http");

const LONGEST_SIDE = 128;
const MOST_BYTES = 1024 * 1024;
const MOST_REMEMBERED = 10_000;
const fences = new Map(); // job id -> the highest fence seen

function thumb({ width, height }) {
  const scale = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

// A runner that was lost may still send. The fence grows with every claim: a smaller one comes too late.
function isLate(job, fence) {
  if (fence < (fences.get(job) ?? 0)) return true;
  fences.delete(job);
  fences.set(job, fence);
  if (fences.size > MOST_REMEMBERED) fences.delete(fences.keys().next().value);
  return false;
}

function answer(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}

async function read(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= MOST_BYTES) pieces.push(piece); // read on: whoever hangs up is not heard
  }
  return size <= MOST_BYTES ? Buffer.concat(pieces).toString("utf8") : null;
}

async function handle(request, response) {
  if (request.method === "GET" && request.url === "/health") return answer(response, 200, "ok");
  if (request.method !== "POST" || request.url !== "/thumbs") return answer(response, 404, { error: "POST /thumbs" });
  const job = request.headers["paceline-job-id"];
  const fence = Number(request.headers["paceline-fence"]);
  if (!job || !Number.isSafeInteger(fence)) return answer(response, 400, { error: "no Paceline headers" });
  const text = await read(request);
  if (text === null) return answer(response, 413, { error: "the payload is too large" });
  if (isLate(job, fence)) return answer(response, 409, { error: `fence ${fence} of job ${job} is late` });
  let size;
  try {
    size = JSON.parse(text);
  } catch {
    return answer(response, 400, { error: "the payload is no JSON" });
  }
  if (!(size?.width > 0 && size?.height > 0)) return answer(response, 422, { error: "give a width and a height" });
  console.log(`job ${job}, attempt ${request.headers["paceline-attempt"]}, fence ${fence}`);
  return answer(response, 200, thumb(size));
}

const server = http.createServer((request, response) => {
  handle(request, response).catch((error) => answer(response, 500, { error: String(error) }));
});
const port = Number(process.env.THUMBS_PORT ?? 9000);
server.listen(port, "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => server.close());
