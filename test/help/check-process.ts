import { parsePbxUrl } from '../../src/pbx/source/pbx-url.ts'
import { checkPbx } from '../../src/pbx/tools/check.ts'

// A check of the PBX at the URL in the arguments, as a process: its memory is that of the check alone. Prints the
// findings and the growth of the memory in bytes, as JSON.

const parsed = parsePbxUrl(process.argv[2] ?? '')
if ('wrong' in parsed) throw new Error(parsed.wrong)
const before = process.memoryUsage.rss()
// Not the system's maximum of the process: that one begins with the memory of the process that started this one.
let peak = before
const note = (): void => {
  peak = Math.max(peak, process.memoryUsage.rss())
}
setInterval(note, 10)
const findings = await checkPbx(parsed.pbx, 60_000)
note()
console.log(JSON.stringify({ findings, grown: peak - before }))
// The time for which it would have listened is not waited for.
process.exit(0)
