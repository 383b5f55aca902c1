import { CodeBlock } from '../../components/code-block.tsx'
import { Icon, type IconName } from '../../components/icon.tsx'
import { formatSentence } from '../../lib/format.ts'
import type { PbxFinding } from '../../lib/resources.ts'

const ICON = { ok: 'check', missing: 'cross', advice: 'alert' } as const satisfies Record<string, IconName>
const TITLE = { ok: 'Works', missing: 'Problem', advice: 'Advice' } as const

/** Shows the findings of a check of a PBX, the missing things first, each with the line to add. */
export function PbxReport({ findings }: { findings: readonly PbxFinding[] }) {
  const order = ['missing', 'advice', 'ok']
  const sorted = findings.toSorted((one, other) => order.indexOf(one.level) - order.indexOf(other.level))
  return (
    <ul class="found" aria-label="What was found">
      {sorted.map(({ level, text, line }) => (
        <li key={text} class={level}>
          <Icon name={ICON[level]} />
          <div>
            <p>
              <span class="hidden">{TITLE[level]}: </span>
              {formatSentence(text)}
            </p>
            {line === undefined ? null : <CodeBlock text={line} label={`the line ${line}`} />}
          </div>
        </li>
      ))}
    </ul>
  )
}
