// The forms of the reference: each sends its request to this server.
const key = document.querySelector('#key')
for (const e of document.querySelectorAll('.caller, .try')) e.hidden = false

/** The workspace of who is signed in to the Explorer, for requests without a key. */
let workspace = ''
const named = document.querySelectorAll('.try [name=workspace_id]')
if (named.length > 0) {
  fetch('/session')
    .then((response) => response.json())
    .then(({ data }) => {
      const all = data.user?.workspaces ?? []
      const used = all.find(({ id }) => id === localStorage.getItem('atlas-workspace')) ?? all[0]
      workspace = used?.id ?? ''
      if (used) for (const input of named) Object.assign(input, { placeholder: used.name, required: false })
    })
    .catch(() => {}) // No Explorer, or nobody is signed in.
}

/** request is what a form says. Without a key, it is that of who is signed in. */
function request(form) {
  let address = form.dataset.address
  const query = new URLSearchParams()
  for (const input of form.querySelectorAll('[data-in]')) {
    const value = input.value.trim() || (input.name === 'workspace_id' && key.value.trim() === '' ? workspace : '')
    if (input.dataset.in === 'path') address = address.replace(`{${input.name}}`, encodeURIComponent(value))
    else if (value !== '') query.append(input.name, value)
  }
  if (query.size > 0) address += '?' + query
  const body = form.querySelector('[data-body]')?.value.trim() || undefined
  const headers = {}
  if (key.value.trim() !== '' && form.dataset.open === undefined) headers.Authorization = 'Bearer ' + key.value.trim()
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  return { method: form.dataset.method, address, body, headers }
}

/** curl is the request as a command. The key is not in it. */
function curl({ method, address, body, headers }, open) {
  const quoted = (text) => "'" + text.replaceAll("'", `'\\''`) + "'"
  const parts = ['curl -sS']
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) parts.push('-X ' + method)
  parts.push(quoted(location.origin + address))
  if (!open) parts.push('-H "Authorization: Bearer $KEY"')
  if (headers['Content-Type']) parts.push("-H 'Content-Type: application/json'", '-d ' + quoted(body))
  return parts.join(' \\\n  ')
}

/** element makes an element with a text. */
function element(name, text, attributes = {}) {
  const e = Object.assign(document.createElement(name), attributes)
  e.textContent = text
  return e
}

const visible = ['X-Credits-Charged', 'X-Credits-Remaining', 'Retry-After', 'X-Request-Id']

async function send(form) {
  const answer = form.querySelector('[data-answer]')
  const { method, address, body, headers } = request(form)
  answer.replaceChildren(element('p', 'Waiting …'))
  const began = performance.now()
  try {
    const response = await fetch(address, { method, headers, body, cache: 'no-store' })
    const text = await response.text()
    const ms = Math.round(performance.now() - began)
    const shown = visible.filter((name) => response.headers.has(name)).map((name) => `${name}: ${response.headers.get(name)}`)
    let pretty = text
    try {
      pretty = JSON.stringify(JSON.parse(text), null, 2)
    } catch {
      // Shown as it is.
    }
    answer.replaceChildren(
      element('p', `${response.status} ${response.statusText} · ${ms} ms`, { className: response.ok ? 'good' : 'bad' }),
      element('p', shown.join(' · '), { className: 'quiet' }),
      element('pre', pretty, { tabIndex: 0 }),
    )
  } catch (e) {
    answer.replaceChildren(element('p', `No answer: ${e.message}`, { className: 'bad' }))
  }
}

for (const form of document.querySelectorAll('.try form')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void send(form)
  })
  form.querySelector('[data-copy]').addEventListener('click', async (event) => {
    const text = curl(request(form), form.dataset.open !== undefined)
    try {
      await navigator.clipboard.writeText(text)
      event.target.textContent = 'Copied'
    } catch {
      form.querySelector('[data-answer]').replaceChildren(element('pre', text, { tabIndex: 0 }))
    }
  })
  form.querySelector('[data-examples]')?.addEventListener('change', (event) => {
    form.querySelector('[data-body]').value = event.target.value
  })
}
document.querySelector('.caller')?.addEventListener('submit', (event) => event.preventDefault())
