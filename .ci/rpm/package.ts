import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { manualPage } from '../deb/manual-page.ts'
import { settingsFile } from '../deb/settings-file.ts'
import { run } from '../run-command.ts'

/** The executable of an architecture, and what goes into its package. */
type PackageSource = {
  readonly architecture: 'x86_64' | 'aarch64'
  readonly executable: string
  readonly licenses: string
  readonly releasedMs: number
}

const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env

/**
 * Builds an RPM package in a folder, and returns its name. It installs wherever glibc is 2.17 or newer: Enterprise Linux
 * from 7 (Issabel, Sangoma's system) to 10, Fedora. The same source makes the same bytes. Needs `rpmbuild`.
 */
export async function buildRpmPackage(source: PackageSource, folder: string): Promise<string> {
  const { architecture, executable, licenses, releasedMs } = source
  const top = mkdtempSync(join(tmpdir(), 'hookswitch-rpm-'))
  try {
    const sources = join(top, 'SOURCES')
    mkdirSync(sources)
    copyFileSync(executable, join(sources, 'hookswitch'))
    chmodSync(join(sources, 'hookswitch'), 0o755)
    copyFileSync(join(import.meta.dir, '../deb/hookswitch.service'), join(sources, 'hookswitch.service'))
    writeFileSync(join(sources, 'hookswitch.env'), settingsFile())
    writeFileSync(join(sources, 'hookswitch.1'), manualPage(releasedMs))
    writeFileSync(join(sources, 'LICENSES.txt'), licenses)
    writeFileSync(join(top, 'hookswitch.spec'), spec(sources))
    const defined = Object.entries({
      _topdir: top,
      _rpmdir: join(top, 'RPMS'),
      // Older systems know neither zstd nor a digest other than these.
      _binary_payload: 'w6.gzdio',
      _binary_filedigest_algorithm: '8',
      _buildhost: 'hookswitch',
      use_source_date_epoch_as_buildtime: '1',
      clamp_mtime_to_source_date_epoch: '1',
    }).flatMap(([name, value]) => ['--define', `${name} ${value}`])
    await run(['rpmbuild', '-bb', '--target', `${architecture}-linux`, ...defined, join(top, 'hookswitch.spec')], top, {
      ...process.env,
      SOURCE_DATE_EPOCH: String(Math.floor(releasedMs / 1_000)),
    })
    const built = join(top, 'RPMS', architecture)
    const [name = ''] = readdirSync(built)
    copyFileSync(join(built, name), join(folder, name))
    return name
  } finally {
    rmSync(top, { recursive: true, force: true })
  }
}

/** `1.0.0-beta.1` comes before `1.0.0`: in RPM's order, too, by a tilde. */
const rpmVersion = (): string => manifest.version.replace('-', '~')

/** Returns the spec file. The executable has its program appended: stripping or checking it would break it. */
function spec(sources: string): string {
  const homepage = GITHUB_REPOSITORY === undefined ? '' : `URL: ${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}\n`
  return `%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
Name: hookswitch
Version: ${rpmVersion()}
Release: 1
Summary: Call-event webhooks for Asterisk and FreeSWITCH
License: MIT
Group: Applications/Communications
${homepage}AutoReqProv: no
Requires: glibc >= 2.17
Requires(pre): shadow-utils
Requires(post): systemd
Requires(preun): systemd
Requires(postun): systemd

%description
Hookswitch watches the calls of Asterisk and FreeSWITCH PBXs and sends other
systems (CRM, bots, monitoring) a signed HTTP POST for each call event, in real
time: a phone rings, someone answers, the call is transferred, it ends, its
recording is available. Each event is stored before it is sent, and delivered
until its receiver has accepted it.

%install
install -D -m 0755 ${sources}/hookswitch %{buildroot}/usr/bin/hookswitch
install -D -m 0644 ${sources}/hookswitch.service %{buildroot}/usr/lib/systemd/system/hookswitch.service
install -D -m 0640 ${sources}/hookswitch.env %{buildroot}/etc/hookswitch.env
install -D -m 0644 ${sources}/hookswitch.1 %{buildroot}/usr/share/man/man1/hookswitch.1
install -D -m 0644 ${sources}/LICENSES.txt %{buildroot}/usr/share/doc/hookswitch/LICENSES.txt
install -d -m 0700 %{buildroot}/var/lib/hookswitch

%pre
${script('pre')}

%post
${script('post')}

%preun
${script('preun')}

%postun
${script('postun')}

%files
%defattr(-,root,root,-)
/usr/bin/hookswitch
/usr/lib/systemd/system/hookswitch.service
%config(noreplace) %attr(0640,root,hookswitch) /etc/hookswitch.env
/usr/share/man/man1/hookswitch.1
%doc /usr/share/doc/hookswitch/LICENSES.txt
%dir %attr(0700,hookswitch,hookswitch) /var/lib/hookswitch
`
}

// The number of versions that remain is the first argument of a script: 1 on the first installation, 0 at the removal.
const SCRIPTS = {
  pre: `getent group hookswitch > /dev/null || groupadd --system hookswitch
getent passwd hookswitch > /dev/null ||
  useradd --system --gid hookswitch --home-dir /var/lib/hookswitch --no-create-home --shell /sbin/nologin hookswitch
exit 0`,
  post: `if [ -d /run/systemd/system ]; then systemctl --system daemon-reload > /dev/null 2>&1 || :; fi
if [ "$1" = 1 ]; then
  cat << 'END'
Hookswitch is installed. Next:
  sudo -u hookswitch hookswitch user add --data /var/lib/hookswitch --admin --email you@example.com --name You
  sudo systemctl enable --now hookswitch
Then log in at http://127.0.0.1:8080: the page shows how to connect a PBX. The settings are in /etc/hookswitch.env. See man hookswitch.
END
fi
exit 0`,
  preun: `if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now hookswitch.service > /dev/null 2>&1 || :
fi
exit 0`,
  postun: `if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload > /dev/null 2>&1 || :
  if [ "$1" -ge 1 ]; then systemctl try-restart hookswitch.service > /dev/null 2>&1 || :; fi
fi
exit 0`,
} as const

/** Returns a script of the package as the spec file has it, where `%` is a macro. */
const script = (name: keyof typeof SCRIPTS): string => SCRIPTS[name].replaceAll('%', '%%')

/** The scripts of the package, by name. */
export const RPM_SCRIPTS: Readonly<Record<string, string>> = SCRIPTS
