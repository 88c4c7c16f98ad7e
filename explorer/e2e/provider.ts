import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Provider } from 'oidc-provider'
import { binary, dir, service } from './service'

/** Account has the claims of the provider about a person. Their login is the part before the @. */
interface Account {
  email: string
  email_verified: boolean
  name: string
}

const clientId = 'explorer'
const clientSecret = 'a secret of the tests'

/** freePort returns a port that nothing listens on. */
async function freePort(): Promise<number> {
  const probe = createServer()
  const port = await listen(probe, 0)
  await new Promise((done) => probe.close(done))
  return port
}

const listen = (server: Server, port: number) =>
  new Promise<number>((done) =>
    server.listen(port, '127.0.0.1', () => {
      done((server.address() as AddressInfo).port)
    }),
  )

/** Installation is atlas serve beside atlas-dev, on its backends, and an OpenID provider. */
export class Installation {
  readonly accounts = new Map<string, Account>()
  private constructor(
    readonly origin: string,
    readonly issuer: string,
    private readonly environment: NodeJS.ProcessEnv,
    private readonly provider: Server,
    private server: ChildProcess | undefined,
  ) {}

  static async start(): Promise<Installation> {
    const origin = `http://localhost:${await freePort()}`
    const port = await freePort()
    const issuer = `http://localhost:${port}`
    const provider = createServer()
    const { postgres_url, elasticsearch_url, redis_url } = service()
    const installation = new Installation(
      origin,
      issuer,
      {
        PATH: process.env.PATH,
        ATLAS_LISTEN: new URL(origin).host,
        ATLAS_POSTGRES_URL: postgres_url,
        ATLAS_POSTGRES_SYSTEM_URL: postgres_url.replace('//atlas_app', '//atlas_system'),
        ATLAS_ELASTICSEARCH_URL: elasticsearch_url,
        ATLAS_REDIS_URL: redis_url,
        ATLAS_REDIS_TIMEOUT: '5s',
        ATLAS_CURSOR_KEYS: (JSON.parse(readFileSync(join(dir, 'secrets.json'), 'utf8')) as { cursor_key: string })
          .cursor_key,
        ATLAS_OIDC_ISSUER: issuer,
        ATLAS_OIDC_CLIENT_ID: clientId,
        ATLAS_OIDC_CLIENT_SECRET: clientSecret,
        ATLAS_PUBLIC_URL: origin,
      },
      provider,
      undefined,
    )
    const oidc = new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [`${origin}/session/callback`],
          post_logout_redirect_uris: [`${origin}/`],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      pkce: { required: () => true },
      issueRefreshToken: () => Promise.resolve(true),
      cookies: { keys: [randomUUID()] },
      findAccount: (_, login) => {
        const account = installation.accounts.get(login)
        return account && { accountId: login, claims: () => ({ sub: login, ...account }) }
      },
    })
    const answer = oidc.callback()
    provider.on('request', (request, response) => void answer(request, response))
    await listen(provider, port)
    await installation.serve()
    return installation
  }

  /** serve starts the server and waits until it answers. */
  private async serve(): Promise<void> {
    const server = spawn(atlas, ['serve'], { env: this.environment, stdio: ['ignore', 'ignore', 'pipe'] })
    this.server = server
    let log = ''
    await new Promise<void>((done, fail) => {
      server.stderr.on('data', (text: Buffer) => {
        log += text.toString()
        if (log.includes('"msg":"serving"')) done()
      })
      server.on('exit', (status) => {
        fail(new Error(`atlas serve ended with ${status}: ${log}`))
      })
    })
  }

  /** atlas runs a command of the operator. */
  private async atlas(...command: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(atlas, command, { env: this.environment })
    return stdout
  }

  /** add adds a person to a workspace by address, or by the id of who has signed in already. */
  async add(workspace: string, { email, name }: Account, user?: string): Promise<void> {
    const known = user ? ['--user', user] : []
    await this.atlas(
      'member',
      'add',
      '--workspace',
      workspace,
      '--email',
      email,
      '--name',
      name,
      '--role',
      'member',
      ...known,
    )
  }

  /** remove removes a member. */
  async remove(workspace: string, email: string): Promise<void> {
    const list = await this.atlas('member', 'list', '--workspace', workspace, '--json')
    const id = (JSON.parse(list) as { id: string; email: string }[]).find((m) => m.email === email)?.id ?? ''
    await this.atlas('member', 'remove', '--workspace', workspace, id)
  }

  /** person is somebody whom the provider knows and no workspace. */
  person(name: string, verified = true): Account & { login: string } {
    const login = `${name.toLowerCase()}-${randomUUID()}`
    const account = { email: `${login}@example.com`, email_verified: verified, name }
    this.accounts.set(login, account)
    return { login, ...account }
  }

  /** member is a person whom the operator added to a workspace by address. */
  async member(name: string, workspaces: string[]): Promise<Account & { login: string }> {
    const person = this.person(name)
    for (const id of workspaces) await this.add(id, person)
    return person
  }

  async stop(): Promise<void> {
    this.server?.removeAllListeners('exit').kill()
    this.provider.closeAllConnections()
    await new Promise((done) => this.provider.close(done))
  }
}

const atlas = join(dirname(binary), 'atlas')
