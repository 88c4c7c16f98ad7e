import { AtlasError } from "./errors.js";

/** How old a request may be, in seconds, against replay attacks. */
const TOLERANCE = 300;

/** Atlas did not sign the request. */
export class WebhookSignatureError extends AtlasError {
  override name = "WebhookSignatureError";
}

/** The body of a delivery. `data` has ids; what they stand for is read from the API. */
export interface WebhookEvent {
  /** The webhook-id: the same whenever the event is redelivered. */
  id: string;
  type: string;
  timestamp: string;
  data: unknown;
}

/**
 * Checks the signature of a request to a webhook (https://www.standardwebhooks.com) and reads its body, which must be
 * as it was received. Respond with 2xx once the event is stored: without it, the event is redelivered. Throws
 * WebhookSignatureError.
 */
export async function readWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
): Promise<WebhookEvent> {
  const header = (name: string) => (headers instanceof Headers ? headers.get(name) : headers[name])?.toString() ?? "";
  const [id, at] = [header("webhook-id"), header("webhook-timestamp")];
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${at}.${text}`);
  let valid = false;
  if (id && /^\d+$/.test(at) && Math.abs(Date.now() / 1000 - Number(at)) <= TOLERANCE) {
    const key = await crypto.subtle.importKey("raw", bytes(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, [
      "verify",
    ]);
    for (const signature of header("webhook-signature").split(" ")) {
      if (!/^v1,[A-Za-z0-9+/]+=*$/.test(signature)) continue;
      valid ||= await crypto.subtle.verify("HMAC", key, bytes(signature.slice(3)), signed);
    }
  }
  if (!valid) throw new WebhookSignatureError("the signature of the webhook is not valid");
  return { ...(JSON.parse(text) as Omit<WebhookEvent, "id">), id };
}

const bytes = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
