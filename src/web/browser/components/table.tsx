// biome-ignore-all lint/a11y/useSemanticElements: a heading of a group of rows is a row header
// biome-ignore-all lint/a11y/noRedundantRoles: the style changes how rows and cells are displayed, which takes their own roles away
import { type ComponentChildren, Fragment } from 'preact'
import { openUnlessLink } from '../lib/router.ts'

export type Column<T> = {
  readonly name: string
  /** Only screen readers have the name. */
  readonly isNameHidden?: boolean
  /** A number of pixels or a percentage; without one the column takes the rest of the width. */
  readonly width?: number | string
  /**
   * The cell's place in a narrow list, whose rows have two lines: `a1` and `a2` on the first, `b1` and `b2` on the
   * second, `lead` before and `menu` behind them. A cell without a place is left out there.
   */
  readonly place?: 'lead' | 'a1' | 'a2' | 'b1' | 'b2' | 'menu' | 'play'
  readonly isEnd?: boolean
  readonly cell: (item: T) => ComponentChildren
}

type TableProps<T> = {
  readonly label: string
  readonly columns: readonly Column<T>[]
  /** `null`: they are being read. */
  readonly items: readonly T[] | null
  readonly keyOf: (item: T) => string
  /** The address that a click anywhere in a row opens. */
  readonly hrefOf?: (item: T) => string
  readonly isCurrent?: (item: T) => boolean
  /** Whether a row is faded, because it is about to leave the list. */
  readonly isFaded?: (item: T) => boolean
  /** The heading above the first row of a group, such as a day: its name, and a note beside it. */
  readonly groupOf?: (item: T) => readonly [name: string, beside: string]
  readonly kind?: 'feed'
}

/** The rows of a list that is being read. */
const BONES = 8

/**
 * Shows a list: a table of one-line rows, which have two lines where the list is narrow. The roles are explicit,
 * because the style changes how rows and cells are displayed.
 */
export function Table<T>(props: TableProps<T>) {
  const { label, columns, items, kind = '' } = props
  const places = columns.map(({ place }) => place)
  const styles = [
    'table',
    kind,
    places.includes('lead') ? 'with-lead' : '',
    places.includes('menu') || places.includes('play') ? 'with-menu' : '',
  ]
  return (
    <div class="list-box" aria-busy={items === null}>
      {items === null ? (
        <p class="hidden" role="status">
          Loading {label.toLowerCase()}…
        </p>
      ) : null}

      <table class={styles.filter((one) => one !== '').join(' ')} role="table" aria-label={label}>
        <colgroup>
          {columns.map(({ name, width }) => (
            <col key={name} {...(width === undefined ? {} : { width })} />
          ))}
        </colgroup>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, isNameHidden, isEnd }) => (
              <th key={name} role="columnheader" scope="col" class={isEnd === true ? 'end' : undefined}>
                {isNameHidden === true ? <span class="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {items === null ? <BoneRows columns={columns} /> : <Rows {...props} items={items} />}
        </tbody>
      </table>
    </div>
  )
}

function Rows<T>(props: TableProps<T> & { items: readonly T[] }) {
  const { columns, items, keyOf, hrefOf, isCurrent, isFaded, groupOf } = props
  const groups = items.map((item) => groupOf?.(item))
  return (
    <>
      {items.map((item, at) => {
        const group = groups[at]
        const href = hrefOf?.(item)
        const styles = [isCurrent?.(item) === true ? 'current' : '', isFaded?.(item) === true ? 'fade' : '']
        return (
          <Fragment key={keyOf(item)}>
            {group === undefined || (at > 0 && groups[at - 1]?.join() === group.join()) ? null : (
              <tr class="day" role="row">
                <th role="rowheader" scope="rowgroup" colSpan={columns.length}>
                  {group[0]} <span>{group[1]}</span>
                </th>
              </tr>
            )}
            <tr
              role="row"
              class={styles.join(' ').trim()}
              onClick={href === undefined ? undefined : (event) => openUnlessLink(event, href)}
            >
              {columns.map(({ name, place = '', isEnd, cell }) => (
                <td key={name} role="cell" class={isEnd === true ? `${place} end` : place}>
                  {cell(item)}
                </td>
              ))}
            </tr>
          </Fragment>
        )
      })}
    </>
  )
}

const WIDTHS = ['', 'w2', 'w4'] as const

function BoneRows<T>({ columns }: { columns: readonly Column<T>[] }) {
  return (
    <>
      {Array.from({ length: BONES }, (_, row) => (
        <tr key={row} role="row" class="bones">
          {columns.map(({ name, place = '', isEnd }, at) => (
            <td key={name} role="cell" class={isEnd === true ? `${place} end` : place}>
              {place === 'menu' || place === 'play' ? null : <i class={`bone ${WIDTHS[(row + at) % 3]}`} />}
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}
