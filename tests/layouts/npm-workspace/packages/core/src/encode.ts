export function encode(text: string): string {
  return encodeURIComponent(text);
}
