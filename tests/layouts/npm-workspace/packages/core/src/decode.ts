export function decode(text: string): string {
  return decodeURIComponent(text);
}
