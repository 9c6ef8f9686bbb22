package system.log_test

import data.system.log

test_nothing_is_logged_twice if log.drop
