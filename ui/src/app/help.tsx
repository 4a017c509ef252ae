// SPDX-License-Identifier: Apache-2.0
// What mouse and keys do.
import type { RefObject } from 'preact';

const KEYS: [string, string, string][] = [
  ['Zoom at the cursor', 'wheel on the tracks', 'W S, + -'],
  ['Pan', 'drag, Shift + wheel', 'A D, arrows'],
  ['Fit everything, or the selection', 'double click', 'F'],
  ['Measure a range', 'drag on the ruler, Shift + drag', 'M; Esc clears'],
  ['Previous, next of the same kind; next slower', '', '[ ] .'],
  ['Previous, next on its row; parent, child', 'click', 'Q E; Alt + up, down'],
  ['Back, forward along a flow; all visible arrows', 'links of the details; Flows', '< > R'],
  ['Tracks: move; open, close; first event', 'click', 'up down; right left; Enter'],
  ['Pin, hide a track; samples of a thread', 'menu of the label', 'P H G'],
  ['Search, next hit', 'box', '/ N Shift+N'],
  ['Filter by model', 'click on its name', 'T'],
  ['Live: pause the view, back to now', 'Pause, Now', 'Space'],
  ['Theme, link of this view, this help', 'buttons', 'L Y ?'],
];

export function Help({ dialog }: { dialog: RefObject<HTMLDialogElement> }) {
  return (
    <dialog ref={dialog} class="help" aria-label="Mouse and keys" onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <h2>Mouse and keys</h2>
      <table>
        <tbody>
          {KEYS.map(([what, mouse, keys]) => (
            <tr key={what}>
              <td>{what}</td>
              <td class="sub">{mouse}</td>
              <td>
                <kbd>{keys}</kbd>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <form method="dialog">
        <button class="button">Close</button>
      </form>
    </dialog>
  );
}
