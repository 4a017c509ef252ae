# SPDX-License-Identifier: Apache-2.0
"""Tests with budgets: python_tools.sh runs pytest over it and looks at what becomes of each."""
import pytest

import inferogram


def infer(count):
    model = inferogram.Model('ocr')
    for _ in range(count):
        with inferogram.event(model, 'inference'):
            sum(range(1000))


@pytest.mark.inferogram_gate('inference.max=3600s', min='inference.count=20')
def test_within():
    infer(20)


@pytest.mark.inferogram_gate('inference.max=1ns')
def test_beyond():
    infer(20)


@pytest.mark.inferogram_gate('inference.p99=3600s')
def test_unsure():
    infer(20)


@pytest.mark.inferogram_gate('inference.p99=3600s', on_unsure='fail')
def test_unsure_fails():
    infer(20)


@pytest.mark.inferogram_gate('inference.max=1ns')
def test_own_failure():
    infer(1)
    raise KeyError('its own')


@pytest.mark.inferogram_gate('nonsense')
def test_wrong_budget():
    infer(1)


@pytest.mark.parametrize('name', ['a/b', 'c d'])
def test_plain(name):
    assert inferogram.is_recording() is inferogram.RECORDED
