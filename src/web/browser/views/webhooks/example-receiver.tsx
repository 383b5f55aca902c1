import { useState } from 'preact/hooks'
import csharp from '../../../../examples/Receiver.cs' with { type: 'text' }
import go from '../../../../examples/receiver.go' with { type: 'text' }
import javascript from '../../../../examples/receiver.mjs' with { type: 'text' }
import php from '../../../../examples/receiver.php' with { type: 'text' }
import python from '../../../../examples/receiver.py' with { type: 'text' }
import { Segments } from '../../components/choice.tsx'
import { CodeBlock } from '../../components/code-block.tsx'

const PROGRAMS = { JavaScript: javascript, Python: python, PHP: php, Go: go, 'C#': csharp } as const
type Language = keyof typeof PROGRAMS
const LANGUAGES: readonly Language[] = ['JavaScript', 'Python', 'PHP', 'Go', 'C#']

/** Shows a whole receiver in the language that is chosen; the tests run the same files. */
export function ExampleReceiver({ secret }: { secret: string }) {
  const [language, setLanguage] = useState<Language>('JavaScript')
  return (
    <>
      <h3>A receiver that verifies the signature</h3>
      <p class="hint">
        It also drops repeats and does not go back to an older state. Requests are signed as the Standard Webhooks
        specification defines, so its libraries verify them too.
      </p>
      <Segments
        label="Language"
        isSmall
        value={language}
        options={LANGUAGES.map((name) => [name, name])}
        onChange={(name) => setLanguage(LANGUAGES.find((one) => one === name) ?? 'JavaScript')}
      />
      <CodeBlock
        text={PROGRAMS[language].replace('whsec_…', secret)}
        label={`a receiver in ${language}`}
        head={language}
      />
    </>
  )
}
