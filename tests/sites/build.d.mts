export const sites: Record<string, { out: string; under: string }>;
export function site(name: string): string;
export function steps(markdown: string): { file?: string; text?: string; command?: string }[];
