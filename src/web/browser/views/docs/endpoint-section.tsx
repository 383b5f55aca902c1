import { InlineText } from '../../components/inline-text.tsx'
import { type ApiDocument, type ApiOperation, type Parameter, resolved } from '../../lib/api-document.ts'
import { bodySchemaOf } from '../../lib/try-request.ts'
import { Limits, SchemaFields, TypeText } from './schema-fields.tsx'
import { TryRequest } from './try-request.tsx'

const STREAM = 'text/event-stream'

type EndpointProps = { endpoint: ApiOperation; document: ApiDocument }

/** Shows one operation of the API: its parameters, its responses, and a form to try it. */
export function EndpointSection({ endpoint, document }: EndpointProps) {
  const { operationId, method, path, summary, description, parameters = [] } = endpoint
  const body = bodySchemaOf(endpoint)
  return (
    <section class="doc-endpoint" id={operationId} aria-labelledby={`${operationId}-title`}>
      <h3 id={`${operationId}-title`}>{summary}</h3>
      <p class="doc-call">
        <b class={`doc-method ${method.toLowerCase()}`}>{method}</b> <code>{path}</code>
        <span class="dim">{accessOf(endpoint)}</span>
      </p>
      {description === undefined ? null : (
        <p>
          <InlineText text={description} />
        </p>
      )}
      {parameters.length === 0 ? null : (
        <>
          <h4>Parameters</h4>
          <dl class="doc-fields">
            {parameters.map((parameter) => (
              <ParameterRow key={parameter.name} parameter={parameter} />
            ))}
          </dl>
        </>
      )}
      {body === undefined ? null : (
        <>
          <h4>Request body</h4>
          <SchemaFields schema={resolved(body, document)} />
        </>
      )}
      <h4>Responses</h4>
      <Responses endpoint={endpoint} />
      <details>
        <summary>Try it</summary>
        {endpoint.responses['200']?.content?.[STREAM] === undefined ? (
          <TryRequest endpoint={endpoint} document={document} />
        ) : (
          <p>
            A stream does not end: follow it with <code>curl -N</code>, or open the live view of this service.
          </p>
        )}
      </details>
    </section>
  )
}

function accessOf({ security = [] }: ApiOperation): string {
  if (security.length === 0) return 'no token needed'
  return security.length > 1 ? 'a token, or a signed link' : 'needs a token'
}

function ParameterRow({ parameter }: { parameter: Parameter }) {
  const { name, in: where, required, schema } = parameter
  const description = parameter.description ?? schema.description
  return (
    <div class="doc-field">
      <dt>
        <code class="doc-name">{name}</code> <TypeText schema={schema} />
        <span class="dim">
          {' '}
          {where}
          {required ? '' : ', optional'}
        </span>
      </dt>
      <dd>
        {description === undefined ? null : (
          <p>
            <InlineText text={description} />
          </p>
        )}
        <Limits schema={schema} />
      </dd>
    </div>
  )
}

function Responses({ endpoint }: { endpoint: ApiOperation }) {
  return (
    <ul class="doc-responses">
      {Object.entries(endpoint.responses).map(([status, { description, content = {} }]) => {
        const [[type, { schema }] = ['', { schema: undefined }]] = Object.entries(content)
        const isSuccess = status.startsWith('2')
        return (
          <li key={status}>
            <b class={`state ${isSuccess ? 'good' : 'none'}`}>{status}</b> <InlineText text={description} />
            {isSuccess && schema !== undefined ? (
              <details>
                <summary>Body of the response, {type}</summary>
                <SchemaFields schema={schema} />
              </details>
            ) : null}
          </li>
        )
      })}
    </ul>
  )
}
