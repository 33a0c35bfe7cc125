// The engine's replies: {"ok": …} or {"error": …}.

export function read(json) {
  const { ok, error } = JSON.parse(json);
  if (error) throw new Error(error.message);
  return ok;
}
