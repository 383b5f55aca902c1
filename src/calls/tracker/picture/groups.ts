/**
 * The groups of a call, derived from facts: who was rung by which channels, from which extension of the dialplan, and
 * when. Pure, and the same whatever the order in which the facts were reported.
 *
 * Each party is rung by a chain of diallers: the channel that rings it, and behind virtual halves the channels that
 * ring them, out to the party that calls. Those that are rung at the same time form a group at the nearest dialler that
 * they have in common, and groups further inside where a virtual half rings several of them from an extension with a
 * number. Where the PBX itself shows that an extension rings a group, that counts instead.
 */

/** When something was the case; `seq` orders what happened at the same microsecond. */
export type Stamp = { readonly us: number; readonly seq: number }

/** A channel that rings somebody. */
export type Dialler = {
  readonly channel: string
  readonly isHalf: boolean
  /** The extension from which it dialled: as reported with the dial, else where the channel was. */
  readonly place: string | null
  readonly isPlaceReported: boolean
  /** Its extension is about to be reported. */
  readonly awaitsPlace: boolean
}

/** A party that is rung, on one or several devices. */
export type Ring = {
  readonly stage: string
  /** The party for which it is rung. */
  readonly source: string | null
  /** Its diallers, the nearest first; of a queue's party only those inside the queue. */
  readonly chain: readonly Dialler[]
  /** The queue that rings it. */
  readonly queue: string | null
  readonly from: Stamp
  /** When it stopped ringing, answered or not; `null` while it rings. */
  readonly until: Stamp | null
  readonly isAnswered: boolean
  /** When it was over, after its conversation too. */
  readonly over: Stamp | null
  /** It cannot make a group, only join one: the PBX created no channel for it, or it is a queue. */
  readonly isWeak: boolean
}

/** The PBX shows that an extension rings a group. */
export type Shown = {
  readonly channel: string
  /** Empty if the dialplan has no number there. */
  readonly place: string
  readonly from: Stamp
  readonly until: Stamp | null
  /** It begins another attempt if all that the extension rang before has been given up. */
  readonly isNewAttempt: boolean
}

export type Group = {
  /** The same for the same group whatever is added to it. */
  readonly key: string
  readonly target: string | null
  readonly source: string | null
  /** The channel for which the PBX shows the group, and whether that has ended. */
  readonly shownBy: string | null
  readonly isRungOut: boolean
  /** The dialling channel whose extension names the group, while that is about to be reported. */
  readonly awaitsNameOf: string | null
  /** The rung parties in it, in groups inside it too, by the time of their dials. */
  readonly rings: readonly Ring[]
  /** The group around it; `null` if none is. */
  readonly around: Group | null
}

type Groups = {
  readonly groups: readonly Group[]
  /** The innermost group around each rung party. */
  readonly innermost: ReadonlyMap<string, Group>
}

/** Returns whether something happened before something else. */
export const isBefore = (one: Stamp, other: Stamp): boolean =>
  one.us < other.us || (one.us === other.us && one.seq < other.seq)

const isOverAt = (until: Stamp | null, at: Stamp): boolean => until !== null && isBefore(until, at)

const isSamePlace = (one: Dialler, other: Dialler): boolean =>
  one.channel === other.channel && (!one.isPlaceReported || !other.isPlaceReported || one.place === other.place)

/** Returns the groups that these parties form. */
export function groupsOf(all: readonly Ring[], shown: readonly Shown[]): Groups {
  // A phone that a queue rings itself is in no other group, unless the PBX shows one.
  const isAside = ({ queue, chain }: Ring): boolean => queue !== null && chain.length === 0 && shown.length === 0
  const rings = all
    .filter((ring) => !isAside(ring))
    .toSorted((a, b) => a.from.us - b.from.us || a.from.seq - b.from.seq)
  const together = bundles(rings).flatMap(parallel)
  const drafts = shownGroups(rings, shown, together)
  for (const bundle of together) {
    const enclosing = drafts.some((one) => one.shownBy !== null && bundle.every((ring) => one.rings.includes(ring)))
    if (bundle[0]?.queue === null && !enclosing) drafts.push(...outerGroup(bundle))
  }
  drafts.push(...innerGroups(together.flat(), drafts))
  return nested(drafts)
}

type Draft = Omit<Group, 'around'>

/** The groups that the PBX shows: one for each attempt of an extension that rings anybody. */
function shownGroups(rings: readonly Ring[], shown: readonly Shown[], together: readonly (readonly Ring[])[]): Draft[] {
  if (shown.length === 0) return []
  const marks = Map.groupBy(shown, ({ channel }) => channel)
  return [...marks].flatMap(([channel, own]) => attempts(channel, rings, together, own))
}

/** The groups that one channel rings, one after the other. */
function attempts(
  channel: string,
  rings: readonly Ring[],
  together: readonly (readonly Ring[])[],
  marks: readonly Shown[],
): Draft[] {
  let left = rings.filter(({ chain }) => chain.some((dialler) => dialler.channel === channel))
  const groups: { mark: Shown; rings: Ring[]; until: Stamp | null }[] = []
  for (const [index, mark] of marks.entries()) {
    const before = groups.at(-1)
    const nextUs =
      marks.slice(index + 1).find(({ place, isNewAttempt }) => isNewAttempt || place !== mark.place)?.from ?? null
    const still = new Set(
      left.filter((ring) => isRungFrom(ring, mark) && (nextUs === null || !isBefore(nextUs, ring.from))),
    )
    // The PBX may show the group only when a member answers: those that rang with it, and are over, belong to it too.
    const beside = new Set(together.filter((list) => list.some((ring) => still.has(ring))).flat())
    const mine = left.filter((ring) => still.has(ring) || (beside.has(ring) && isDialledFrom(ring, mark)))
    left = left.filter((ring) => !mine.includes(ring))
    const isGivenUp = (ring: Ring): boolean => !ring.isAnswered && isOverAt(ring.until, mark.from)
    const isGoingOn = before?.mark.place === mark.place && before.until === null
    if (isGoingOn && !(mark.isNewAttempt && before.rings.length > 0 && before.rings.every(isGivenUp))) {
      before.rings.push(...mine)
      before.until = mark.until
      continue
    }
    if (before !== undefined) before.until ??= mark.from
    groups.push({ mark, rings: mine, until: mark.until })
  }
  return groups
    .filter((group) => group.rings.length > 0)
    .map(({ mark, rings, until }) => ({
      key: `${channel}@${mark.place} ${mark.from.us}`,
      target: mark.place === '' ? null : mark.place,
      source: rings[0]?.source ?? null,
      shownBy: channel,
      isRungOut: until !== null,
      awaitsNameOf: null,
      rings,
    }))
}

const isDialledFrom = ({ chain }: Ring, mark: Shown): boolean =>
  chain.some(({ channel, place }) => channel === mark.channel && (place ?? '') === mark.place)

/** Returns whether an extension rang this party, or still rang it when the PBX showed that it rings a group. */
function isRungFrom(ring: Ring, mark: Shown): boolean {
  if (!isDialledFrom(ring, mark)) return false
  if (isBefore(ring.from, mark.from)) return !isOverAt(ring.over, mark.from)
  return !isOverAt(mark.until, ring.from)
}

/** Splits parties by caller, place and queue: only parties of one bundle can form a group. */
function bundles(rings: readonly Ring[]): Ring[][] {
  const lists: Ring[][] = []
  for (const ring of rings) {
    const list = lists.find((one) => one[0] !== undefined && isOfOneBundle(one[0], ring))
    if (list === undefined) lists.push([ring])
    else list.push(ring)
  }
  return lists
}

function isOfOneBundle(one: Ring, other: Ring): boolean {
  if (one.source !== other.source || one.queue !== other.queue) return false
  // A queue is the group of all that it rings.
  if (one.queue !== null) return true
  const [a, b] = [one.chain.at(-1), other.chain.at(-1)]
  return a === undefined || b === undefined ? a === b : isSamePlace(a, b)
}

/** Splits a bundle into parties that ring at the same time, directly or through others: two or more each. */
function parallel(bundle: readonly Ring[]): Ring[][] {
  const all = new Set<Ring[]>()
  for (const ring of bundle) {
    const isBeside = (one: Ring): boolean => !isOverAt(one.until, ring.from)
    let own: Ring[] | undefined
    for (const list of all) {
      // The latest first: most of them still ring.
      if (list.findLast(isBeside) === undefined) continue
      if (own === undefined) {
        own = list
        own.push(ring)
        if (ring.isWeak) break
      } else {
        own.push(...list)
        all.delete(list)
      }
    }
    if (own === undefined && !ring.isWeak) all.add([ring])
  }
  return [...all].filter((list) => list.filter(({ isWeak }) => !isWeak).length > 1)
}

/** The group of parties that ring at the same time, at the nearest dialler that they have in common. */
function outerGroup(rings: readonly Ring[]): Draft[] {
  const [first, ...others] = rings
  if (first === undefined) return []
  const common = first.chain.find((one) => others.every(({ chain }) => chain.some((other) => isSamePlace(one, other))))
  // Phones that the PBX rings by itself are a group only if an extension of its dialplan rings them.
  if (first.source === null && common === undefined) return []
  return [
    {
      key: `${first.source} ${first.stage}`,
      target: common?.place ?? first.chain.at(-1)?.place ?? null,
      source: first.source,
      shownBy: null,
      isRungOut: false,
      awaitsNameOf: common?.awaitsPlace === true ? common.channel : null,
      rings,
    },
  ]
}

/** The groups that virtual halves ring from extensions with numbers, inside another group or a queue. */
function innerGroups(rings: readonly Ring[], outer: readonly Draft[]): Draft[] {
  const byHalf = new Map<string, Ring[]>()
  for (const ring of rings) {
    const [nearest] = ring.chain
    if (nearest === undefined || !nearest.isHalf || nearest.awaitsPlace || !/^\d+$/.test(nearest.place ?? '')) continue
    const known = byHalf.get(nearest.channel)
    if (known === undefined) byHalf.set(nearest.channel, [ring])
    else known.push(ring)
  }
  const several = [...byHalf].filter(([, all]) => all.length > 1)
  return several.flatMap(([half, all]) =>
    parallel(all).flatMap((mine) => {
      const isWhole = outer.some(
        (one) => one.rings.length === mine.length && mine.every((ring) => one.rings.includes(ring)),
      )
      const isShown = outer.some((one) => one.shownBy === half)
      if (isWhole || isShown) return []
      const target = mine[0]?.chain[0]?.place ?? null
      const source = mine[0]?.source ?? null
      const key = `${half} ${mine[0]?.stage}`
      return [{ key, target, source, shownBy: null, isRungOut: false, awaitsNameOf: null, rings: mine }]
    }),
  )
}

/** Puts groups into the groups around them: the smallest that has all of their parties. */
function nested(drafts: readonly Draft[]): Groups {
  const inside = drafts.length < 2 ? new Map() : new Map(drafts.map((one) => [one, new Set(one.rings)]))
  const depthOf = (draft: Draft): number => {
    const [ring] = draft.rings
    return ring?.chain.findIndex(({ channel }) => channel === draft.shownBy) ?? -1
  }
  const isAround = (outer: Draft, inner: Draft): boolean =>
    outer !== inner &&
    inner.rings.every((ring) => inside.get(outer)?.has(ring) === true) &&
    (outer.rings.length > inner.rings.length || depthOf(outer) > depthOf(inner))
  const sorted = drafts.toSorted((a, b) => b.rings.length - a.rings.length || depthOf(b) - depthOf(a))
  const made = new Map<Draft, Group>()
  const innermost = new Map<string, Group>()
  for (const draft of sorted) {
    const around = [...made.keys()].findLast((one) => isAround(one, draft))
    const group: Group = { ...draft, around: around === undefined ? null : (made.get(around) ?? null) }
    made.set(draft, group)
    for (const ring of draft.rings) innermost.set(ring.stage, group)
  }
  return { groups: [...made.values()], innermost }
}
