import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, Icon, INodeProperties } from 'n8n-workflow'

/** An API token of Hookswitch and the address of its API. */
export class HookswitchApi implements ICredentialType {
  name = 'hookswitchApi'

  displayName = 'Hookswitch API'

  icon: Icon = {
    light: 'file:../nodes/Hookswitch/hookswitch.svg',
    dark: 'file:../nodes/Hookswitch/hookswitch.dark.svg',
  }

  documentationUrl = 'https://github.com/OWNER/REPOSITORY/tree/main/.ci/n8n#credentials'

  properties: INodeProperties[] = [
    {
      displayName: 'Address',
      name: 'baseUrl',
      type: 'string',
      required: true,
      default: '',
      placeholder: 'e.g. https://hookswitch.example.com',
      description: 'Where the page of Hookswitch is',
    },
    {
      displayName: 'API Token',
      name: 'accessToken',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      description: 'Made on the page of Hookswitch under Account. It begins with hks_.',
    },
  ]

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.accessToken}}' } },
  }

  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}', url: '/auth/me' },
  }
}
