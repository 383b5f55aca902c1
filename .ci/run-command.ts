/** Runs a command to its end, and returns its output. @throws Error with all that it printed if it fails. */
export async function run(command: string[], cwd: string, env?: Record<string, string | undefined>): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe', ...(env === undefined ? {} : { env }) })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}
