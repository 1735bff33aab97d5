# Runs the tests of rdma-core, as python3-pyverbs has them, and prints a line for each: outcome, name and reason,
# separated by tabs.
#
#   rdma_core_tests.py DIRECTORY connections|others [NAME...]
#
# DIRECTORY is rdma-core's tests/. The tests run as they are, but for what they take from an adapter's directory in /sys, which
# there is not: an interface, its address, and whether the adapter has a fault that is known. Those of connections open a
# device and fork then, and both children use it; a child of a process that uses Farside can't. So they run in a process
# that never opens the device, as a program that forks its servers first does.
import contextlib
import fcntl
import os
import socket
import struct
import sys
import types
import unittest

directory, part, names = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.argv = [sys.argv[0], '--dev', 'farside0']
sys.path[0] = directory # for args_parser

package = types.ModuleType('tests') # without its __init__, which imports all tests
package.__path__ = [directory]
sys.modules['tests'] = package

import args_parser

args_parser.parser.parse_args()

from tests import base



def device_address():
    """The address of the device's first GID: that of an interface that is up, loopback's if no other has one."""
    up, loopback, get_flags, get_address = 1, 8, 0x8913, 0x8915  # linux/if.h, linux/sockios.h
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _, name in socket.if_nameindex():
            request = struct.pack('40s', name.encode())
            flags, = struct.unpack_from('H', fcntl.ioctl(s, get_flags, request), 16)
            if flags & (up | loopback) == up:
                with contextlib.suppress(OSError):  # it has no address
                    return socket.inet_ntoa(fcntl.ioctl(s, get_address, request)[20:24])
    return '127.0.0.1'


ADDRESS, MAC = device_address(), '00:00:00:00:00:00'


def interface_of_device(self, dev, port, index):
    self.args.append([dev, port, index, ADDRESS, MAC])


base.RDMATestCase._get_ip_mac = interface_of_device

if part == 'connections':
    from tests import utils

    def set_up_without_device(self):
        self.dev_name, self.ib_port, self.gid_index, self.pkey_index = 'farside0', 1, 0, 0
        self.ip_addr, self.mac_addr = ADDRESS, MAC
        self.dev_info = {'dev_name': self.dev_name, 'ib_port': self.ib_port, 'gid_index': self.gid_index}

    base.RDMATestCase.setUp = set_up_without_device
    base.RDMATestCase.is_eth_and_has_roce_hw_bug = lambda self: False
    utils.requires_mcast_support = lambda: unittest.skip('multicast')


class Result(unittest.TestResult):
    def report(self, test, outcome, reason=''):
        reason = reason.strip().splitlines()[-1] if reason.strip() else ''
        print(outcome, test.id(), reason, sep='\t', flush=True)

    def addSuccess(self, test):
        self.report(test, 'ok')

    def addSkip(self, test, reason):
        self.report(test, 'skipped', reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.report(test, 'failed', self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.report(test, 'failed', self.errors[-1][1])


def modules():
    for name in sorted(os.listdir(directory)):
        if name.startswith('test_') and name.endswith('.py'):
            if 'mlx5' in name or 'efa' in name or 'cuda' in name: # tests of one adapter
                continue
            if (name == 'test_rdmacm.py') == (part == 'connections'):
                yield 'tests.' + name[:-3]


suite = unittest.defaultTestLoader.loadTestsFromNames(names or list(modules()))
result = Result()
suite.run(result)
sys.exit(0 if result.wasSuccessful() else 1)
