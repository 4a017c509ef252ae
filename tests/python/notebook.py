# SPDX-License-Identifier: Apache-2.0
"""The magic in a real IPython. notebook.py FOLDER"""
import os
import sys

from IPython.testing.globalipapp import start_ipython

import inferogram

FOLDER = sys.argv[1]
shell = start_ipython()
shell.run_line_magic('load_ext', 'inferogram')
path = os.path.join(FOLDER, 'cell.ifg')
cell = "import inferogram\nwith inferogram.zone('in the cell'):\n    answer = 42\n"

trace = shell.run_cell_magic('inferogram', '-o %s --no-sample' % path, cell)
assert shell.user_ns['answer'] == 42
assert isinstance(trace, inferogram.Trace) and trace.path == path and shell.user_ns['_inferogram'].path == path
assert trace.query("SELECT name FROM slice WHERE kind = 'zone'").rows() == [('in the cell',)]
as_html = shell.display_formatter.formatters['text/html']
as_html.enabled = True  # as in a notebook; a terminal shows none
html = as_html(trace)
assert html.startswith('<iframe sandbox="allow-scripts"') and 'in the cell' not in html.split('srcdoc')[0]
table = as_html(trace.query('SELECT name, dur_ns FROM slice'))
assert 'in the cell' in table

# An existing file is kept; without -o there is a temporary one; a failing cell fails as usual.
for line, part in (('-o %s' % path, 'exists'), ('what', 'not an option')):
    try:
        shell.run_cell_magic('inferogram', line, 'pass')
    except inferogram.Error as error:
        assert part in str(error), error
    else:
        raise AssertionError(line)
shell.run_cell_magic('inferogram', '-o %s -f --no-sample' % path, 'pass')
assert shell.run_cell_magic('inferogram', '--no-report --no-sample', "with inferogram.zone('failing'):\n    1 / 0\n") is None
temporary = shell.user_ns['_inferogram']
assert temporary.query("SELECT name FROM slice WHERE kind = 'zone'").rows() == [('failing',)]
os.unlink(temporary.path)
assert shell.run_line_magic('inferogram', path).path == path
print('done')
