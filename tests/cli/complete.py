# SPDX-License-Identifier: Apache-2.0
"""Asks a real shell, at a terminal, how it completes a line: complete.py SHELL SCRIPT LINE prints the line with all
completions inserted, or the one that there is."""
import os
import pty
import select
import subprocess
import sys
import time

END = b'<end of line>'

# Alt-* inserts all completions in bash; zsh is told to by compstate. Ctrl-x 1 prints the line as it is then.
BASH = r'''
bind 'set bell-style none'; bind 'set enable-bracketed-paste off'
bind '"\C-i": insert-completions'
bind -x '"\C-x1": printf "\n<line>%s{end}\n" "$READLINE_LINE"'
source "$SCRIPT"; PS1='<ready>'
'''
ZSH = r'''
fpath=("${{SCRIPT:h}}" $fpath)
autoload -Uz compinit; compinit -u -D
insert-all() {{ _main_complete; compstate[insert]=all; compstate[list]= }}
zle -C insert-all complete-word insert-all; bindkey '^I' insert-all
show-line() {{ print -r -- "
<line>$BUFFER{end}" }}
zle -N show-line; bindkey '^X1' show-line
PS1='<ready>'; unsetopt zle_bracketed_paste
'''


def await_bytes(terminal, wanted, deadline):
    text = b''
    while wanted not in text:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            sys.exit(f'no {wanted!r} came; this did: {text.decode(errors="replace")}')
        text += os.read(terminal, 65536)
    return text


def at_terminal(arguments, setup, line):
    """Types a line and a tab; what the shell made of it."""
    terminal, other = pty.openpty()
    deadline = time.monotonic() + 60
    shell = subprocess.Popen(arguments, stdin=other, stdout=other, stderr=other, start_new_session=True,
                             env={**os.environ, 'TERM': 'dumb', 'COLUMNS': '2000'})
    os.close(other)
    try:
        # The marks are not whole in what is typed, which the terminal echoes.
        os.write(terminal, setup.encode())
        await_bytes(terminal, b'<ready>', deadline)
        os.write(terminal, line.encode() + b'\t\x181')
        text = await_bytes(terminal, END, deadline)
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
    return text[:text.index(END)].rpartition(b'<line>')[2].decode().replace('\r', '').strip()


def main():
    name, script, line = sys.argv[1:]
    os.environ['SCRIPT'] = script
    if name == 'fish':
        done = subprocess.run(['fish', '--no-config', '-c', 'source $SCRIPT; complete -C $argv[1]', line],
                              stdout=subprocess.PIPE, check=True, timeout=60, text=True)
        words = [found.split('\t')[0] for found in done.stdout.splitlines()]
        print(line[:line.rindex(' ') + 1] + ' '.join(words))
        return
    with open('setup', 'w', encoding='utf-8') as file:
        file.write((BASH if name == 'bash' else ZSH).replace('{{', '{').replace('}}', '}').replace('{end}', END.decode()))
    arguments = ['bash', '--norc', '--noprofile', '-i'] if name == 'bash' else ['zsh', '-f', '-i']
    print(at_terminal(arguments, '. ./setup\n', line))


main()
