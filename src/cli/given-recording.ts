import { wrongUsage } from '../lib/usage.ts'
import { type PbxRecording, readRecording } from '../pbx/pbx.ts'

/** What to do about a file that is no recording of a PBX, for messages. */
export const GIVE_A_RECORDING = 'give a recording (.ami or .esl, see pbx record)'

/** Reads the recording of a PBX that a command was given. @throws CommanderError (code 2) if it cannot be read. */
export function readGivenRecording(file: string): PbxRecording {
  try {
    return readRecording(file)
  } catch {
    throw wrongUsage(`cannot read ${file}: ${GIVE_A_RECORDING}`)
  }
}
