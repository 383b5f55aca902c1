import { CodeBlock } from '../../components/code-block.tsx'
import { InlineText } from '../../components/inline-text.tsx'
import type { PbxFields } from '../../lib/pbx-fields.ts'
import { pbxSetupOf } from '../../lib/pbx-setup-text.ts'

/** Shows the lines for the configuration of the PBX, so that it accepts the connection. */
export function PbxSetup({ fields }: { fields: PbxFields }) {
  const { intro, file, text, command, hint } = pbxSetupOf(fields)
  return (
    <div class="pbx-setup">
      <p>If Hookswitch is installed on the PBX's machine, one command does all of this:</p>
      <CodeBlock text="sudo hookswitch pbx setup" label="the command that sets it up" />
      <p>
        <InlineText text={intro} />
      </p>
      <CodeBlock text={text} label={`the lines for ${file}`} />
      <p>Then run this on the PBX:</p>
      <CodeBlock text={command} label="the command" />
      <p class="hint">
        <InlineText text={hint} />
      </p>
    </div>
  )
}
