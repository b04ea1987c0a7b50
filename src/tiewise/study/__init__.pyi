from .checks.check import check_study as check_study
from .create import create_study as create_study
from .researcher_store import ResearcherStore as ResearcherStore
from .study import Study as Study
from .values import Phase as Phase
from .values import TokenPurpose as TokenPurpose
