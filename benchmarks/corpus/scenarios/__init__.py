"""The situations of real users as pairs of models: a fault to be found, or parity to be reported.

`pair.py` says what a pair is and judges where a report places a fault. The models stand in files
named for what they are (`c51_torch.py`, `nature_dqn.py`, `recurrent.py`, ...), written as users
write them. A line that a report must name carries a tag: `# stage: softmax` in a correct model,
`# fault: softmax-axis-0` in a faulty one.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
