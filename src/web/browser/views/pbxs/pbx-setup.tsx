import { CodeBlock } from '../../components/code-block.tsx'
import { type PbxFields, pbxSetupOf } from '../../lib/pbx-fields.ts'

/** Shows the lines for the configuration of the PBX, so that it accepts the connection. */
export function PbxSetup({ fields }: { fields: PbxFields }) {
  const { file, text, command } = pbxSetupOf(fields)
  return (
    <div class="pbx-setup">
      <p>On the machine of the PBX, with Hookswitch on it, one command does all of this:</p>
      <CodeBlock text="sudo hookswitch pbx setup" label="the command that sets it up" />
      <p>
        {fields.kind === 'freeswitch' ? 'Let the file ' : 'Add these lines to '}
        <code>{file}</code>
        {fields.kind === 'freeswitch' ? ' of your FreeSWITCH contain this:' : ' of your Asterisk:'}
      </p>
      <CodeBlock text={text} label={`the lines for ${file}`} />
      <p>Then run this on the PBX:</p>
      <CodeBlock text={command} label="the command" />
      {fields.kind === 'freeswitch' ? (
        <p class="hint">
          The event socket has no TLS, and its password allows everything: reach it on the same machine, or through a
          VPN or an SSH tunnel.
        </p>
      ) : (
        <p class="hint">
          This user can only read. With FreePBX, add its section to <code>manager_custom.conf</code>. On another machine
          the events cross the network unencrypted unless you use TLS or a VPN.
        </p>
      )}
    </div>
  )
}
