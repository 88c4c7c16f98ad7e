import { Dialog } from '../ui/dialog'

const keys: [string, [string, string][]][] = [
  [
    'Everywhere',
    [
      ['/', 'Search'],
      ['f', 'Add a filter'],
      ['Enter', 'In the search box: load rows'],
      ['→', 'At the end of the search box: take the conditions offered'],
      ['⌘K Ctrl+K', 'Everything by its name'],
      ['?', 'This list'],
    ],
  ],
  [
    'Rows',
    [
      ['j k', 'Next and previous row; with the record open, its record'],
      ['Enter', 'Open the record'],
      ['Esc', 'Close the record, or select nothing'],
      ['x', 'Select the row, or no longer'],
      ['Shift ↑ ↓', 'Select up to there; Shift and a click do too'],
      ['Ctrl A', 'Select all rows that are loaded'],
      ['← →', 'To the cells of the row, and back'],
      ['F2', 'Edit status, tier, tags or notes; Enter saves, Esc does not'],
      ['Ctrl C', 'Copy the cell, or the row as JSON'],
      ['Home End', 'First and last row that is loaded'],
    ],
  ],
  [
    'The record that is open',
    [
      ['p', 'Copy the phone number'],
      ['a', 'Copy the address'],
      ['l', 'Copy a link to it'],
    ],
  ],
  [
    'Names of the columns (↑ from the first row)',
    [
      ['Enter', 'Sort'],
      ['Shift ← →', 'Move the column'],
      ['+ - 0', 'Wider, narrower, usual width'],
    ],
  ],
]

/** Keys lists the keys of the page. */
export default function Keys({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div className="keys">
        {keys.map(([place, list]) => (
          <section key={place} aria-label={place}>
            <h3>{place}</h3>
            <dl>
              {list.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    {key.split(' ').map((k) => (
                      <kbd key={k}>{k}</kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <form method="dialog" className="actions">
          <button className="button">Close</button>
        </form>
      </div>
    </Dialog>
  )
}
