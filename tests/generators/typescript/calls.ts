/** Calls services by openapi-fetch with types of openapi-typescript: `node calls.js FOLDER URLS`. */
import { deepStrictEqual, strictEqual, ok } from "node:assert";
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components as Lesion, paths as LesionPaths } from "./lesion.d.ts";
import type { components as Motion, paths as MotionPaths } from "./motion.d.ts";
import type { components as Translation, paths as TranslationPaths } from "./translation.d.ts";
import type { components as Vessel, paths as VesselPaths } from "./vessel.d.ts";
import type { components as Weather, paths as WeatherPaths } from "./weather.d.ts";

const folder = process.argv[2]!;
const urls = JSON.parse(process.argv[3]!) as Record<string, string>;
const clients = {
  lesion: createClient<LesionPaths>({ baseUrl: urls.lesion! }),
  motion: createClient<MotionPaths>({ baseUrl: urls.motion! }),
  translation: createClient<TranslationPaths>({ baseUrl: urls.translation! }),
  vessel: createClient<VesselPaths>({ baseUrl: urls.vessel! }),
  weather: createClient<WeatherPaths>({ baseUrl: urls.weather! }),
};
/** As text, so that a class of a generated type is not needed: properties that are left out must be optional. */
const read = (task: string) => JSON.parse(readFileSync(`${folder}/${task}.json`, "utf8"));
const rows: Vessel["schemas"]["Row"][] = read("vessel").rows;
const forecasts: Weather["schemas"]["Row"][] = read("weather").rows;
const text: string = read("translation").text;
const scene: string = read("motion").scene;
const flair: string = read("lesion").flair;

const plain = async (task: string) => {
  const headers = { "content-type": "application/json" };
  const body = readFileSync(`${folder}/${task}.json`);
  return (await fetch(`${urls[task]}/v1/predict`, { method: "POST", headers, body })).json();
};

/** Equal but for identities, new in each answer; numbers to float32. */
const checkEqual = (answer: unknown, expected: unknown, where = "$"): void => {
  if (typeof expected === "number" && typeof answer === "number") {
    ok(Math.abs(answer - expected) <= 1e-6 + 1e-4 * Math.abs(expected), `${where}: ${answer}, ${expected}`);
  } else if (typeof expected === "object" && expected !== null && typeof answer === "object" && answer !== null) {
    deepStrictEqual(Object.keys(answer).sort(), Object.keys(expected).sort(), where);
    for (const [name, one] of Object.entries(expected)) {
      if (!name.startsWith("prediction_id")) checkEqual((answer as Record<string, unknown>)[name], one, `${where}.${name}`);
    }
  } else {
    strictEqual(answer, expected, where);
  }
};

const checkError = (error: Vessel["schemas"]["Error"] | undefined): void => {
  ok(error);
  const detail: Vessel["schemas"]["ErrorDetail"] = error.error;
  deepStrictEqual([detail.code, detail.field, detail.unit], ["bad_timeout", "demur-timeout-seconds", "s"]);
};

const late = { header: { "Demur-Timeout-Seconds": -1 } };
const cases: Record<string, () => Promise<void>> = {
  "predict[vessel]": async () => {
    const { data, error } = await clients.vessel.POST("/v1/predict", { body: { rows, members: true, purpose: "replay" } });
    ok(data, JSON.stringify(error));
    const means: (number | null)[] = data.power.mean;
    strictEqual(means.length, rows.length);
    checkEqual(data, await plain("vessel"));
    const columns = Object.fromEntries(Object.keys(rows[0]!).map((name) => [name, rows.map((row) => row[name as keyof typeof row])]));
    const body: Vessel["schemas"]["Request"] = { columns: columns as Vessel["schemas"]["Columns"] }; // `members` is optional
    const decided = await clients.vessel.POST("/v1/predict", { body });
    checkEqual(decided.data?.power.mean, means);
    // @ts-expect-error: a text is no request
    const none: Vessel["schemas"]["Request"] = "rows";
    // @ts-expect-error: rows and columns exclude each other, and an unknown property is none
    const both: Vessel["schemas"]["Request"] = { rows, speed: 1 };
    ok(none && both);
  },
  "predict[weather]": async () => {
    const body: Weather["schemas"]["Request"] = { rows: forecasts, members: true, purpose: "replay" };
    const { data, error } = await clients.weather.POST("/v1/predict", { body });
    ok(data, JSON.stringify(error));
    const classes: (number | null)[] = data.precipitation.class;
    strictEqual(classes.length, forecasts.length);
    checkEqual(data, await plain("weather"));
  },
  "predict[translation]": async () => {
    const body: Translation["schemas"]["Request"] = { text, purpose: "replay" };
    const { data, error } = await clients.translation.POST("/v1/predict", { body });
    ok(data, JSON.stringify(error));
    const sentence: Translation["schemas"]["SentenceAnswer"] = data.sentences[0]!;
    ok(sentence.decision === "ANSWER" || sentence.deferred);
    checkEqual(data, await plain("translation"));
  },
  "predict[motion]": async () => {
    const body: Motion["schemas"]["Request"] = { scene, submission: true, purpose: "replay" };
    const { data, error } = await clients.motion.POST("/v1/predict", { body });
    ok(data, JSON.stringify(error));
    const agent: Motion["schemas"]["AgentAnswer"] = data.answers[0]!;
    strictEqual(agent.trajectories_m?.[0]?.length, 25);
    checkEqual(data, await plain("motion"));
  },
  "predict[lesion]": async () => {
    const body: Lesion["schemas"]["Request"] = { flair, maps: ["mask"], purpose: "replay" };
    const { data, error } = await clients.lesion.POST("/v1/predict", { body });
    ok(data, JSON.stringify(error));
    strictEqual(data.lesions?.length, data.count);
    checkEqual(data, await plain("lesion"));
  },
  "form[motion]": async () => {
    const { data, error } = await clients.motion.POST("/v1/predict", {
      body: { scene, submission: "1", purpose: "replay" },
      bodySerializer: (body) => form(body as Motion["schemas"]["RequestForm"], "scene"),
    });
    ok(data, JSON.stringify(error));
    checkEqual(data, await plain("motion"));
  },
  "form[lesion]": async () => {
    const { data, error } = await clients.lesion.POST("/v1/predict", {
      body: { flair, maps: "mask", purpose: "replay" },
      bodySerializer: (body) => form(body as Lesion["schemas"]["RequestForm"], "flair"),
    });
    ok(data, JSON.stringify(error));
    checkEqual(data, await plain("lesion"));
  },
  "refused[vessel]": async () => checkError((await clients.vessel.POST("/v1/predict", { body: { rows }, params: late })).error),
  "refused[weather]": async () =>
    checkError((await clients.weather.POST("/v1/predict", { body: { rows: forecasts }, params: late })).error),
  "refused[translation]": async () =>
    checkError((await clients.translation.POST("/v1/predict", { body: { text }, params: late })).error),
  "refused[motion]": async () => checkError((await clients.motion.POST("/v1/predict", { body: { scene }, params: late })).error),
  "refused[lesion]": async () => checkError((await clients.lesion.POST("/v1/predict", { body: { flair }, params: late })).error),
  job: async () => {
    const { data, error } = await clients.vessel.POST("/v1/jobs", { body: { rows, members: true, purpose: "replay" } });
    ok(data, JSON.stringify(error));
    const path = { params: { path: { job: data.id } } };
    const stream = await clients.vessel.GET("/v1/jobs/{job}/events", { ...path, parseAs: "text" });
    const lines = stream.data!.trim().split("\n\n").at(-1)!.split("\n");
    const last: Vessel["schemas"]["JobEvent"] = {
      event: lines[0]!.slice("event: ".length) as Vessel["schemas"]["JobStatus"],
      data: JSON.parse(lines[1]!.slice("data: ".length)),
    };
    deepStrictEqual([last.event, last.data.progress.fraction], ["done", 1]);
    const ended = await clients.vessel.GET("/v1/jobs/{job}", path);
    checkEqual(ended.data?.result, await plain("vessel"));
  },
};

const form = (fields: Record<string, unknown>, file: string): FormData => {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (name === file) made.append(name, new Blob([Buffer.from(value as string, "base64")]), name);
    else made.append(name, String(value));
  }
  return made;
};

const outcomes: Record<string, string> = {};
for (const [name, run] of Object.entries(cases)) {
  outcomes[name] = await run().then(() => "", (error: unknown) => String((error as Error).stack));
}
process.stdout.write(JSON.stringify(outcomes));
