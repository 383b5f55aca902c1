import type { FlowPreset } from './resources.ts'

/** Where the calls of a preset go: the form of its webhook's URL, and the heading of its section in the guide `crm`. */
type CrmAddress = { readonly example: string; readonly section: string }

const ADDRESSES: Readonly<Record<string, CrmAddress>> = {
  journal: { example: 'https://crm.example.com/calls', section: 'Any system: `journal`' },
  bitrix24: { example: 'https://example.bitrix24.com/rest/1/KEY/', section: 'Bitrix24' },
  amocrm: { example: 'https://example.amocrm.ru', section: 'amoCRM, Kommo' },
  hubspot: { example: 'https://api.hubapi.com', section: 'HubSpot' },
  odoo: { example: 'https://example.odoo.com', section: 'Odoo' },
  pipedrive: { example: 'https://example.pipedrive.com', section: 'Pipedrive' },
  zendesk: { example: 'https://example.zendesk.com', section: 'Zendesk' },
  espocrm: { example: 'https://crm.example.com', section: 'EspoCRM' },
  frappe: { example: 'https://crm.example.com', section: 'Frappe CRM' },
  vtiger: { example: 'https://example.odx.vtiger.com/restapi/v1/vtiger/default/', section: 'Vtiger' },
  zoho: { example: 'https://www.zohoapis.com', section: 'Zoho CRM' },
}

/**
 * Returns where the calls of a preset go: the form of its webhook's URL, and the guide and its heading. A preset of a
 * file has its own example; the guide has a chapter for those.
 */
export function crmAddressOf({ name, address }: Pick<FlowPreset, 'name' | 'address'>): CrmAddress & { guide: string } {
  const known = ADDRESSES[name]
  if (known !== undefined) return { ...known, guide: 'crm' }
  return { example: address ?? 'https://crm.example.com', section: 'Presets of your own', guide: 'presets' }
}
