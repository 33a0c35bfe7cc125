// The question in the address: `?q=`, on whatever path the page stands.

export function questionOf(search: string): string {
  return (new URLSearchParams(search).get("q") ?? "").trim();
}

export function addressOf(question: string): string {
  return question ? `?${new URLSearchParams({ q: question })}` : "./";
}
