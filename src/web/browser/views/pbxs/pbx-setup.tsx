import type { ComponentChildren } from 'preact'
import { PBX_PROTOCOLS, type PbxKind } from '../../../../lib/pbx-kinds.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import type { PbxFields } from '../../lib/pbx-fields.ts'
import { pbxSetupOf } from '../../lib/pbx-setup-text.ts'

/** Shows the lines for the configuration of the PBX, so that it accepts the connection. */
export function PbxSetup({ fields }: { fields: PbxFields }) {
  const { sentence, file, text, command } = pbxSetupOf(fields)
  return (
    <div class="pbx-setup">
      <p>On the machine of the PBX, with Hookswitch on it, one command does all of this:</p>
      <CodeBlock text="sudo hookswitch pbx setup" label="the command that sets it up" />
      <p>
        {sentence[0]}
        <code>{file}</code>
        {sentence[1]}
      </p>
      <CodeBlock text={text} label={`the lines for ${file}`} />
      <p>Then run this on the PBX:</p>
      <CodeBlock text={command} label="the command" />
      <p class="hint">{HINTS[PBX_PROTOCOLS[fields.protocol].kind]}</p>
    </div>
  )
}

const HINTS: Readonly<Record<PbxKind, ComponentChildren>> = {
  asterisk: (
    <>
      This user can only read. With FreePBX, add its section to <code>manager_custom.conf</code>. On another machine the
      events cross the network unencrypted unless you use TLS or a VPN.
    </>
  ),
  freeswitch: (
    <>
      The event socket has no TLS, and its password allows everything: reach it on the same machine, or through a VPN or
      an SSH tunnel.
    </>
  ),
}
