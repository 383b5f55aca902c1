import type { Command } from 'commander'
import type { GivenSettings } from '../../app/settings.ts'
import { Fault } from '../../lib/fault.ts'
import { harmless, newPaint, type Paint } from '../../lib/terminal-text.ts'
import type { Diagnosis } from '../doctor/diagnosis.ts'
import { diagnose } from '../doctor/doctor.ts'
import { addSettingFlags, jsonOption } from '../options.ts'
import { counted, print, printJson } from '../print.ts'

/** Adds `hookswitch doctor`. It takes the flags and variables of `serve`, because it checks them too. */
export function doctorCommand(program: Command): void {
  addSettingFlags(program.command('doctor').description('find the problems of this installation, and how to fix them'))
    .addOption(jsonOption())
    .option('--whole', 'read the file of the store to its end, also a large one, which takes minutes')
    .action(async ({ json = false, whole = false, ...flags }: GivenSettings & { json?: boolean; whole?: boolean }) => {
      const diagnoses = await diagnose(flags, process.env, { isWhole: whole })
      const paint = newPaint()
      if (json) printJson(diagnoses)
      else for (const diagnosis of diagnoses) print(linesOf(paint, diagnosis))
      const problems = diagnoses.filter(({ level }) => level === 'wrong').length
      if (problems > 0) throw new Fault('unavailable', `doctor found ${counted(problems, 'problem')}: see above`)
    })
}

const COLOURS = { ok: 'green', advice: 'yellow', wrong: 'red' } as const

function linesOf(paint: Paint, { level, about, text, fix }: Diagnosis): string {
  const line = `${paint(COLOURS[level], level.padEnd(7))} ${about}: ${harmless(text)}`
  return fix === undefined ? line : `${line}\n        ${paint('dim', '→')} ${harmless(fix)}`
}
