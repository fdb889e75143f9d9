import os
import time

os.close(1)
time.sleep(0.2)  # the validator has long judged that nothing came
raise SystemExit(1)
