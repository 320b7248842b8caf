export async function playground(host: HTMLElement, code: string): Promise<() => void> {
  host.append('soon ' + code)
  return () => {}
}
