export { Atlas, Book, Dataset, Views, type AtlasOptions, type Change, type Changes, type Schemas, type Shown } from "./client.js";
export type { Attempt, Retry } from "./connection.js";
export { APIError, AtlasError, ConnectionLost, type Credits, type Issue } from "./errors.js";
export { MAX_PAGE, Source, type Batch, type Item, type Options, type Page } from "./source.js";
