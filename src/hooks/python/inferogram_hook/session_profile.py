# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX Runtime before 1.25 (`record --ops`): its own profile of a session's first runs.

The profile is turned on while a session is created and ends after some runs. ONNX Runtime's file
goes to the recorder, with the times of the runs on our clock.
"""
import atexit
import os
import re
import sys
import threading
import time

from . import placement
from .client import as_bytes
from .operators import Operators, reason_against

SESSION_RUNS_MAX = 64
NODE_EVENTS_MAX = 20000
GATE_S = 0.5


class SessionProfiles(Operators):
    how = 'session profile'

    def __init__(self, library, sessions, package):
        super().__init__(library, sessions, package)
        self.number = 0
        self.open_profiles = set()
        self.lock = threading.Lock()
        self.watched_pid = 0
        atexit.register(self.finish_all)

    def watch_exit(self):
        """A forked worker of multiprocessing ends without atexit."""
        util = sys.modules.get('multiprocessing.util')
        if util is not None and self.watched_pid != os.getpid():
            self.watched_pid = os.getpid()
            util.Finalize(None, self.finish_all, exitpriority=0)

    def prepare(self, session, creation):
        state = self.sessions.states.get(id(session))
        if state is not None and state.profile is not None:
            state.profile.finish()  # the session is made anew
        creation.prefix = ''
        directory = self.library.session_directory()
        reason = reason_against(creation) or ('' if directory else 'the recorder takes no files')
        if reason:
            self.refuse(reason)
        if reason or not looks_loadable(creation):
            return
        if creation.options is None:
            session._sess_options = creation.options = self.package.SessionOptions()
        with self.lock:
            self.number += 1
            creation.prefix = '%s/file-%d-p%d' % (os.fsdecode(directory), os.getpid(), self.number)
        creation.old_prefix = creation.options.profile_file_prefix
        creation.options.enable_profiling = True
        creation.options.profile_file_prefix = creation.prefix

    def restore(self, session, creation):
        """The session has its own copy of the options by now; the program's are as before."""
        if not creation.prefix:
            return
        for options in (creation.options, session._sess_options):
            if options is not None:
                options.enable_profiling = False
                options.profile_file_prefix = creation.old_prefix

    def adopt(self, session, creation, state):
        if creation.prefix:
            limit = min(SESSION_RUNS_MAX, NODE_EVENTS_MAX // max(1, creation.content.node_count))
            state.profile = Profile(self, session._sess, state, creation, max(1, limit))
            self.open_profiles.add(state.profile)
            self.watch_exit()
            self.work(state.model, 1, 'first %d inferences of each session, session profile' %
                      SESSION_RUNS_MAX)

    def finish_all(self):
        for profile in list(self.open_profiles):
            profile.finish()


def looks_loadable(creation):
    """ONNX Runtime complains on stderr about a profile whose model could not be loaded."""
    return creation.content.is_ort_format or creation.content.node_count > 0


class Profile:
    """ONNX Runtime's profile of one session, and the runs that are in it.

    It must end between runs: ONNX Runtime aborts the process if another thread is inside of one.
    So runs are counted, new ones wait for a moment at the end, and if that moment does not come
    the profile stays open until it does.
    """

    def __init__(self, owner, c_session, state, creation, limit):
        self.owner, self.c_session, self.limit = owner, c_session, limit
        self.model, self.number, self.prefix = state.model, state.number, creation.prefix
        self.requested = creation.names
        self.state = state
        self.pid = os.getpid()
        self.runs = []
        self.active = 0
        self.deadline = 0.0  # new runs wait until then; 0: the profile is not ending
        self.changed = threading.Condition()

    def enter(self):
        """Before every run of the session. False: the profile has ended, do not call leave."""
        if self.c_session is None or self.pid != os.getpid():
            return False
        with self.changed:
            if self.deadline:
                self.changed.wait_for(lambda: self.c_session is None,
                                      max(0.0, self.deadline - time.monotonic()))
            if self.c_session is None:
                return False
            self.active += 1
            return True

    def leave(self, start=0, end=0, is_last=False):
        """After a run; with its times if it is one that the profile has for sure."""
        with self.changed:
            self.active -= 1
            if end:
                self.runs.append((start, threading.get_native_id(), end))
            if is_last or len(self.runs) >= self.limit:
                self.deadline = self.deadline or time.monotonic() + GATE_S
            self.end_if_quiet()
            self.changed.notify_all()

    def finish(self):
        """The session or the process ends."""
        if self.c_session is None or self.pid != os.getpid():
            return
        with self.changed:
            self.deadline = self.deadline or time.monotonic() + GATE_S
            self.changed.wait_for(lambda: not self.active, GATE_S)
            self.end_if_quiet()

    def end_if_quiet(self):
        if not self.deadline or self.active or self.c_session is None:
            return
        c_session, self.c_session = self.c_session, None
        self.state.profile = None
        self.owner.open_profiles.discard(self)
        try:
            self.hand_over(c_session.end_profiling())
        except Exception as error:
            self.owner.refuse('%s: %s' % (type(error).__name__, error))

    def hand_over(self, json_path):
        if not json_path:
            return
        library, path = self.owner.library, self.prefix + '.runs'
        if library.is_confined():
            return
        if not library.recording[0] or not self.runs:
            os.unlink(json_path)  # nobody else would
            return
        self.tell_placement(json_path)
        with open(path, 'w', encoding='ascii', errors='surrogateescape') as file:
            file.write('inferogram ort-profile 1\nprofile %s\nsession %d\n' % (
                os.path.abspath(json_path), self.number))
            for start, thread, end in sorted(self.runs):
                file.write('run %d %d %d\n' % (thread, start, end))
        library.file_hand_over(self.model, b'ort-profile', as_bytes(path))

    def tell_placement(self, json_path):
        """With several providers only the profile of an old ONNX Runtime shows who got what."""
        if len(self.requested) < 2:
            return
        nodes = {}
        with open(json_path, 'rb') as file:
            for line in file:
                provider = re.search(rb'"provider"\s*:\s*"(\w+)"', line)
                index = re.search(rb'"node_index"\s*:\s*"(\d+)"', line)
                if provider and index:
                    nodes[index.group(1)] = provider.group(1).decode()
        counts = {}
        for name in nodes.values():
            counts[name] = counts.get(name, 0) + 1
        if counts:
            placement.tell_counts(self.owner.library, self.model, counts, self.requested, 'profile')
