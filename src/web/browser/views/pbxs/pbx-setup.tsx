import { CodeBlock } from '../../components/code-block.tsx'
import { InlineText } from '../../components/inline-text.tsx'
import type { PbxFields } from '../../lib/pbx-fields.ts'
import { pbxSetupOf } from '../../lib/pbx-setup-text.ts'

/** Shows what to do in the configuration of the PBX, so that it accepts the connection. */
export function PbxSetup({ fields }: { fields: PbxFields }) {
  const { intro, copies, hint } = pbxSetupOf(fields)
  return (
    <div class="pbx-setup">
      <p>If Hookswitch is installed on the PBX's machine, one command does all of this:</p>
      <CodeBlock text="sudo hookswitch pbx setup" label="the command that sets it up" />
      <p>
        <InlineText text={intro} />
      </p>
      {copies.map(({ before, text, label }) => (
        <>
          {before === undefined ? null : <p>{before}</p>}
          <CodeBlock key={label} text={text} label={label} />
        </>
      ))}
      <p class="hint">
        <InlineText text={hint} />
      </p>
    </div>
  )
}
