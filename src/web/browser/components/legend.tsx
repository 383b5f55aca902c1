/** Shows which colour is what. */
export function Legend({ series }: { series: readonly { readonly name: string; readonly tone: string }[] }) {
  return (
    <ul class="legend" aria-label="Legend">
      {series.map(({ name, tone }) => (
        <li key={name} class={tone}>
          {name}
        </li>
      ))}
    </ul>
  )
}
