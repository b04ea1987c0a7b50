from .server import open_site as open_site
from .server import serve as serve
