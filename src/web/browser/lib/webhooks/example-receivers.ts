import csharp from '../../../../../test/examples/Receiver.cs' with { type: 'text' }
import go from '../../../../../test/examples/receiver.go' with { type: 'text' }
import javascript from '../../../../../test/examples/receiver.mjs' with { type: 'text' }
import php from '../../../../../test/examples/receiver.php' with { type: 'text' }
import python from '../../../../../test/examples/receiver.py' with { type: 'text' }

const PROGRAMS = { JavaScript: javascript, Python: python, PHP: php, Go: go, 'C#': csharp } as const

/** A language in which there is an example. */
export type Language = keyof typeof PROGRAMS
export const LANGUAGES: readonly Language[] = ['JavaScript', 'Python', 'PHP', 'Go', 'C#']

/** Returns a whole receiver, which the tests run, with the secret in the line that starts it. */
export const exampleReceiver = (language: Language, secret: string): string =>
  PROGRAMS[language].replace('whsec_…', secret)
