/** The strokes of each icon on a 20 × 20 grid. Icons are decoration: the text beside them has the meaning. */
const PATHS = {
  live: 'M2.5 10h3.2l2.1-5.5 4 11 2.2-5.5h3.5',
  webhooks: 'M10 3.2a3 3 0 0 1 2.6 4.5l2 3.4M5.8 8.6 7.6 5.4M4.2 10.8a3 3 0 1 0 3.1 4.7h4.2M15.8 11a3 3 0 1 1-1.7 5.8',
  deliveries: 'M3 10.5 17 3.5l-4 13-3.2-5.2L3 10.5Zm6.8.8L17 3.5',
  calls:
    'M4.2 3.5h2.6l1.4 3.6-1.7 1.3a9.6 9.6 0 0 0 5.1 5.1l1.3-1.7 3.6 1.4v2.6a1.4 1.4 0 0 1-1.5 1.4A13 13 0 0 1 2.8 5a1.4 1.4 0 0 1 1.4-1.5Z',
  phone: 'M3 8.5c4-4.5 10-4.5 14 0v2h-4V8.3a9 9 0 0 0-6 0v2.2H3v-2ZM6 16.5l1.5-4h5l1.5 4H6Z',
  crm: 'M2.5 4.5h15v11h-15v-11ZM7 9.6a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.6 12.8a2.5 2.5 0 0 1 4.8 0M12 8h3M12 11.5h3',
  pbx: 'M3.5 4h13v5h-13V4ZM3.5 11h13v5h-13v-5ZM6.5 6.5v.1M6.5 13.5v.1M10 6.5h4M10 13.5h4',
  check: 'M4 10.5 8.2 15 16 5.8',
  cross: 'm5 5 10 10M15 5 5 15',
  clock: 'M10 5.5V10l3 2M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15Z',
  ban: 'M4.8 4.8l10.4 10.4M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15Z',
  alert:
    'M10 7v4M10 13.6v.1M8.7 3.4 2.2 14.6A1.5 1.5 0 0 0 3.5 17h13a1.5 1.5 0 0 0 1.3-2.4L11.3 3.4a1.5 1.5 0 0 0-2.6 0Z',
  plus: 'M10 4v12M4 10h12',
  trash: 'M3.5 5.5h13M8 5.5V3.8h4v1.7M5.2 5.5l.8 11h8l.8-11M8.4 8.8v4.6M11.6 8.8v4.6',
  key: 'M13 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM10.2 9.8 3.5 16.5M5.5 14.5l2 2M8 12l1.6 1.6',
  send: 'M3.5 10h12M11 5l5 5-5 5',
  retry: 'M16.5 10A6.5 6.5 0 1 1 14 4.9M16.5 3v3.5H13',
  copy: 'M7.5 7.5h9v9h-9v-9ZM12.5 7.5v-4h-9v9h4',
  sun: 'M10 13.4a3.4 3.4 0 1 0 0-6.8 3.4 3.4 0 0 0 0 6.8ZM10 2v1.6M10 16.4V18M2 10h1.6M16.4 10H18M4.3 4.3l1.2 1.2M14.5 14.5l1.2 1.2M4.3 15.7l1.2-1.2M14.5 5.5l1.2-1.2',
  moon: 'M16.5 11.8A6.9 6.9 0 0 1 8.2 3.5a6.9 6.9 0 1 0 8.3 8.3Z',
  system: 'M3 4h14v9.5H3V4ZM7 17h6M10 13.5V17',
  user: 'M10 10a3.3 3.3 0 1 0 0-6.6 3.3 3.3 0 0 0 0 6.6ZM3.8 17a6.2 6.2 0 0 1 12.4 0',
  exit: 'M8 3.5H4v13h4M8.5 10h8M13 6l4 4-4 4',
  back: 'M11.5 4.5 6 10l5.5 5.5',
  up: 'M10 16V4.5M5 9.5l5-5 5 5',
  next: 'M8.5 4.5 14 10l-5.5 5.5',
  play: 'M6 3.8v12.4l10-6.2L6 3.8Z',
  pause: 'M6.5 4v12M13.5 4v12',
  book: 'M10 5.2C8.4 4 6 3.6 3 3.8v11.4c3-.2 5.4.2 7 1.4 1.6-1.2 4-1.6 7-1.4V3.8c-3-.2-5.4.2-7 1.4Zm0 0v11.4',
  help: 'M7.6 7.6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2.9-1.2 1.8M10 14.1v.1M10 17.5a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15Z',
  inbound: 'M15.5 4.5 5 15M5 7v8h8',
  outbound: 'M4.5 15.5 15 5M7 5h8v8',
  internal: 'M3 7h12.5L12 3.5M17 13H4.5L8 16.5',
  filter: 'M3 5h14M6 10h8M8.5 15h3',
  options: 'M3 5.5h7M14 5.5h3M12 3.5v4M3 14.5h3M10 14.5h7M8 12.5v4M3 10h11M17 10h0',
  people:
    'M7.5 9.5a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM2.5 16a5 5 0 0 1 10 0M13 4.2a2.8 2.8 0 0 1 0 5.1M14.5 11.6A5 5 0 0 1 17.5 16',
  search: 'M9 15a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM13.4 13.4 17 17',
  download: 'M10 3.5v9M6 9l4 4 4-4M3.5 16.5h13',
  choose: 'm6 8 4-4 4 4M6 12l4 4 4-4',
  more: 'M10 4.4v.1M10 9.9v.1M10 15.4v.1',
  list: 'M3.5 5h13M3.5 10h13M3.5 15h13',
  chat: 'M3.5 4.5h13v9H9l-3.5 3v-3h-2v-9Z',
  eye: 'M2 10s3-5.5 8-5.5 8 5.5 8 5.5-3 5.5-8 5.5S2 10 2 10Zm8 2.3a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6Z',
} as const

export type IconName = keyof typeof PATHS

/** Shows an icon in the colour of the text around it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon i-${name}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}

/** Shows the logo. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="9" fill="#2b45d4" />
      <path
        d="M8 12.5v-2a2.5 2.5 0 0 1 5 0v7a4.5 4.5 0 0 0 9 0V15"
        fill="none"
        stroke="#fff"
        stroke-width="2.8"
        stroke-linecap="round"
      />
      <circle cx="22" cy="10.5" r="2.6" fill="#ffc24b" />
    </svg>
  )
}
